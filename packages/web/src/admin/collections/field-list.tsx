/** The fields of a collection as a table, with buttons for users who may change them. */
import { Badge, Button, Group, Modal, Text, Title } from '@mantine/core';
import type { Collection, Field } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import type { Schema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { EditField } from './edit-field.tsx';
import { resolveSides } from './relation-model.ts';
import { useRemoveField } from './use-remove-field.tsx';

export function FieldList({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const t = useTexts();
  const [edited, setEdited] = useState<Field | 'new' | null>(null);
  const remove = useRemoveField(collection);
  const may = (action: string): boolean => schema.mayReadDefinitions && schema.may('fields', action);
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t.data.definition.fields}</Title>
        {may('create') && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setEdited('new')}>
            {t.data.definition.addField}
          </Button>
        )}
      </Group>
      <ListTable
        label={t.data.definition.fields}
        rows={collection.fields}
        keyOf={(field) => field.name}
        columns={[
          { title: t.common.name, render: (field) => <FieldName field={field} /> },
          { title: t.data.definition.type, render: (field) => <FieldType field={field} /> },
          {
            title: t.data.definition.fieldOptions,
            render: (field) => <OptionBadges field={field} collectionName={collection.name} />,
          },
          {
            title: '',
            width: 90,
            render: (field) => (
              <FieldButtons
                field={field}
                edit={may('update') ? () => setEdited(field) : null}
                remove={may('destroy') ? () => void remove(field) : null}
              />
            ),
          },
        ]}
      />
      <Modal
        opened={edited !== null}
        onClose={() => setEdited(null)}
        size="lg"
        title={edited === 'new' ? t.data.definition.newField : edited && t.data.definition.editField(edited.name)}
      >
        {edited && (
          <EditField
            collection={collection}
            field={edited === 'new' ? null : edited}
            schema={schema}
            done={() => setEdited(null)}
          />
        )}
      </Modal>
    </section>
  );
}

function FieldName({ field }: { field: Field }): ReactNode {
  return (
    <>
      <b>{field.name}</b>
      {field.title && (
        <Text span c="dimmed" size="sm">
          {' '}
          {field.title}
        </Text>
      )}
    </>
  );
}

function FieldType({ field }: { field: Field }): ReactNode {
  const t = useTexts().data.types;
  return (
    <>
      {t.names[field.type] ?? field.type}
      {field.target && (
        <Text span c="dimmed">
          {' '}
          → {field.target}
        </Text>
      )}
    </>
  );
}

interface FieldButtonsProps {
  readonly field: Field;
  /** Null where the role does not allow it. */
  readonly edit: (() => void) | null;
  readonly remove: (() => void) | null;
}

/** Primary keys and the fields that the server manages have no buttons. */
function FieldButtons({ field, edit, remove }: FieldButtonsProps): ReactNode {
  const t = useTexts().data.definition;
  const isFixed = field.readOnly || field.primaryKey;
  return (
    <Group gap={0} wrap="nowrap" justify="flex-end">
      {edit && !isFixed && <IconButton size="md" icon="edit" label={t.editField(field.name)} onClick={edit} />}
      {remove && !isFixed && <IconButton size="md" icon="trash" label={t.removeField(field.name)} onClick={remove} />}
    </Group>
  );
}

function OptionBadges({ field, collectionName }: { field: Field; collectionName: string }): ReactNode {
  const t = useTexts().data;
  const { child, parent } = resolveSides(field.type, collectionName, field.target ?? '');
  const badges = [
    field.primaryKey && t.definition.primaryKey,
    field.readOnly && t.definition.serverManaged,
    field.required && t.types.options.required,
    field.unique && t.types.options.unique,
    field.enum?.slice(0, 4).join(', '),
    field.onDelete && t.types.whenDeleted(field.onDelete, child, parent),
  ].filter((each) => typeof each === 'string');
  return (
    <Group gap={4}>
      {badges.map((badge) => (
        <Badge key={badge} variant="default" tt="none" fw={500} size="sm" miw="max-content">
          {badge}
        </Badge>
      ))}
    </Group>
  );
}

/** The fields of a collection as a table: changed, added and removed by who may. */
import { Badge, Button, Group, Modal, Text, Title } from '@mantine/core';
import type { Collection, Field } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import type { Schema } from '../../data/schema.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { toast } from '../../ui/toasts.tsx';
import { EditField } from './edit-field.tsx';
import { ImpactReport } from './impact.tsx';
import { resolveSides } from './relation-model.ts';

export function FieldList({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const t = useTexts();
  const [edited, setEdited] = useState<Field | 'new' | null>(null);
  const application = useApplication();
  const remove = async (field: Field): Promise<void> => {
    const { collections } = getClient(application);
    try {
      const impact = await collections.previewDestroyField(collection.name, field.name);
      const title = t.data.definition.destroyFieldTitle(field.name);
      const keyIn = (field.type === 'hasMany' || field.type === 'hasOne') && field.foreignKey;
      const text = (
        <>
          <ImpactReport impact={impact} />
          {keyIn && <Text size="sm">{t.data.relation.keyStays(keyIn, field.target!)}</Text>}
        </>
      );
      if (!(await confirm({ title, text, confirmLabel: t.common.destroy, danger: true }))) return;
      await collections.destroyField(collection.name, field.name);
      await invalidate(application);
      toast(t.data.definition.fieldRemoved(field.name));
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  const may = (action: string, field: Field | null): boolean =>
    schema.mayReadDefinitions && schema.may('fields', action) && !field?.readOnly && !field?.primaryKey;
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t.data.definition.fields}</Title>
        {may('create', null) && (
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
          {
            title: t.common.name,
            render: (field) => (
              <>
                <b>{field.name}</b>
                {field.title && (
                  <Text span c="dimmed" size="sm">
                    {' '}
                    {field.title}
                  </Text>
                )}
              </>
            ),
          },
          {
            title: t.data.definition.type,
            render: (field) => (
              <>
                {t.data.types.names[field.type] ?? field.type}
                {field.target && (
                  <Text span c="dimmed">
                    {' '}
                    → {field.target}
                  </Text>
                )}
              </>
            ),
          },
          {
            title: t.data.definition.fieldOptions,
            render: (field) => <OptionBadges field={field} collectionName={collection.name} />,
          },
          {
            title: '',
            width: 90,
            render: (field) => (
              <Group gap={0} wrap="nowrap" justify="flex-end">
                {may('update', field) && (
                  <IconButton
                    size="md"
                    icon="edit"
                    label={t.data.definition.editField(field.name)}
                    onClick={() => setEdited(field)}
                  />
                )}
                {may('destroy', field) && (
                  <IconButton
                    size="md"
                    icon="trash"
                    label={t.data.definition.removeField(field.name)}
                    onClick={() => void remove(field)}
                  />
                )}
              </Group>
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

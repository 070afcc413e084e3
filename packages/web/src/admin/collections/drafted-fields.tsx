import { Accordion, Button, Group, Text, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import {
  type CollectionDraft,
  createDraftedField,
  type DraftedField,
  filterFieldProblems,
} from './collection-draft.ts';
import { FieldForm } from './field-form.tsx';

interface DraftedFieldsProps {
  readonly draft: CollectionDraft;
  readonly change: (fields: readonly DraftedField[]) => void;
  readonly collections: readonly Collection[];
  /** Error details of the collection. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The fields of a collection that does not exist yet: one can be open at a time. */
export function DraftedFields({ draft, change, collections, problems }: DraftedFieldsProps): ReactNode {
  const t = useTexts().data.definition;
  const [opened, setOpened] = useState<string | null>(null);
  const { fields } = draft;
  const add = (): void => {
    const field = createDraftedField(fields);
    change([...fields, field]);
    setOpened(String(field.id));
  };
  const targets = [...collections.map(({ name }) => name), ...(draft.name ? [draft.name] : [])];
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t.fields}</Title>
        <Button variant="default" leftSection={<Icon name="plus" />} onClick={add}>
          {t.addField}
        </Button>
      </Group>
      {fields.length === 0 && <Text c="dimmed">{t.noFields}</Text>}
      <Accordion variant="separated" value={opened} onChange={setOpened}>
        {fields.map((field, index) => {
          const fieldProblems = filterFieldProblems(problems, index);
          return (
            <Accordion.Item key={field.id} value={String(field.id)}>
              <FieldControl
                field={field}
                hasProblems={fieldProblems !== null}
                remove={() => change(fields.filter(({ id }) => id !== field.id))}
              />
              <Accordion.Panel>
                <FieldForm
                  draft={field}
                  change={(next) =>
                    change(fields.map((each) => (each.id === field.id ? { ...next, id: field.id } : each)))
                  }
                  collectionName={draft.name}
                  collections={collections}
                  targets={targets}
                  mayBeKey
                  problems={fieldProblems ?? {}}
                />
              </Accordion.Panel>
            </Accordion.Item>
          );
        })}
      </Accordion>
    </section>
  );
}

interface FieldControlProps {
  readonly field: DraftedField;
  readonly hasProblems: boolean;
  readonly remove: () => void;
}

/** The line of a field that opens and closes its form. */
function FieldControl({ field, hasProblems, remove }: FieldControlProps): ReactNode {
  const t = useTexts().data;
  const name = field.name || t.definition.newField;
  return (
    <Group wrap="nowrap" gap={4} pr="xs">
      <Accordion.Control icon={<Icon name={hasProblems ? 'warning' : 'columns'} />}>
        {name}{' '}
        <Text span c="dimmed" size="sm">
          {t.types.names[field.type]}
        </Text>
      </Accordion.Control>
      <IconButton icon="trash" label={t.definition.removeField(name)} onClick={remove} />
    </Group>
  );
}

import { SimpleGrid } from '@mantine/core';
import type { Collection, Field, RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getWriteName } from '../../data/schema.ts';
import { FieldInput } from '../records/field-input.tsx';
import type { ChangeField } from './record-draft.ts';

interface FieldsFormProps {
  readonly fields: readonly Field[];
  readonly values: RecordValues;
  readonly linked: Readonly<Record<string, RecordValues | null>>;
  readonly change: ChangeField;
  /** What the server said, by member of the body. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The inputs of a record. */
export function FieldsForm({ fields, values, linked, change, problems }: FieldsFormProps): ReactNode {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="sm">
      {fields.map((field) => {
        const name = getWriteName(field);
        const record =
          field.name in linked ? linked[field.name] : (values[field.name] as RecordValues | null | undefined);
        return (
          <FieldInput
            key={field.name}
            field={field}
            value={values[name] ?? null}
            record={field.target ? record : null}
            change={(value, picked) =>
              change(name, value, field.target ? { name: field.name, record: picked ?? null } : undefined)
            }
            error={problems[name] ?? problems[field.name]}
          />
        );
      })}
    </SimpleGrid>
  );
}

/** Fields that a form asks for: a relation in the place of its foreign key, nothing that the server keeps. */
export function listFormFields(collection: Collection, isNew: boolean): Field[] {
  const { fields } = collection;
  const foreignKeys = new Set(fields.filter((field) => field.type === 'belongsTo').map((field) => field.foreignKey));
  return fields.filter(
    (field) =>
      !field.readOnly &&
      !foreignKeys.has(field.name) &&
      (!field.target || field.type === 'belongsTo') &&
      !(field.primaryKey && (field.autoIncrement || !isNew)),
  );
}

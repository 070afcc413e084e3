import { SimpleGrid } from '@mantine/core';
import type { Collection, Field, RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getWriteName } from '../../data/field-names.ts';
import { FieldInput } from '../records/field-input.tsx';
import type { ChangeField } from './record-draft.ts';

interface FieldsFormProps {
  readonly fields: readonly Field[];
  readonly values: RecordValues;
  readonly linked: Readonly<Record<string, RecordValues | null>>;
  readonly change: ChangeField;
  /** Error messages of the server, by property of the request body. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The inputs of the fields of a record. */
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

/** The fields of a form: relations instead of their foreign keys, and no fields that the server manages. */
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

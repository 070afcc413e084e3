/** The columns of a grid, their order and widths. They are stored for each collection in this browser. */
import type { Collection, Field } from '@tablinum/client';
import { useState } from 'react';
import { isRelation } from '../collections/field-types.ts';

export interface ColumnChoice {
  /** The names of the shown fields, in their order. */
  readonly shown: readonly string[];
  /** Pixels by field name, for columns that were resized. */
  readonly widths: Readonly<Record<string, number>>;
}

const maxInitialColumns = 10;
const buildStorageKey = (application: string, collection: string): string =>
  `tablinum.columns.${application}.${collection}`;

/** The fields that a column can show: relations instead of their foreign keys, and no passwords. */
export function listColumnFields({ fields }: Collection): Field[] {
  const foreignKeys = new Set(fields.filter((field) => field.type === 'belongsTo').map((field) => field.foreignKey));
  return fields.filter((field) => field.type !== 'password' && !foreignKeys.has(field.name));
}

export function useColumns(
  application: string,
  collection: Collection,
): [ColumnChoice, (choice: ColumnChoice) => void] {
  const [choice, setChoice] = useState(() => loadColumnChoice(application, collection));
  const change = (next: ColumnChoice): void => {
    setChoice(next);
    try {
      localStorage.setItem(buildStorageKey(application, collection.name), JSON.stringify(next));
    } catch {
      // Without storage the choice is only valid until the page is reloaded.
    }
  };
  return [choice, change];
}

function loadColumnChoice(application: string, collection: Collection): ColumnChoice {
  const names = new Set(listColumnFields(collection).map((field) => field.name));
  try {
    const stored = JSON.parse(
      localStorage.getItem(buildStorageKey(application, collection.name)) ?? 'null',
    ) as ColumnChoice | null;
    const storedColumns = stored?.shown.filter((name) => names.has(name)) ?? [];
    if (stored && storedColumns.length > 0) return { shown: storedColumns, widths: stored.widths };
  } catch {
    // An unreadable entry is ignored.
  }
  return { shown: pickInitialColumns(collection), widths: {} };
}

/** The columns that are shown by default: editable fields, then updatedAt, without to-many relations. */
function pickInitialColumns(collection: Collection): string[] {
  const fields = listColumnFields(collection).filter(
    (field) => !isRelation(field.type) || field.type === 'belongsTo' || field.type === 'hasOne',
  );
  const editableFields = fields.filter((field) => !field.readOnly).slice(0, maxInitialColumns);
  const updatedAtFields = fields.filter((field) => field.name === 'updatedAt');
  return [...editableFields, ...updatedAtFields].map((field) => field.name);
}

const defaultWidths: Readonly<Record<string, number>> = {
  integer: 100,
  bigInt: 120,
  decimal: 110,
  float: 110,
  double: 110,
  boolean: 90,
  date: 120,
  time: 100,
  datetime: 180,
  color: 110,
  text: 260,
  json: 220,
  string: 200,
  select: 130,
};

export function getColumnWidth(field: Field, choice: ColumnChoice): number {
  return (
    choice.widths[field.name] ?? (field.primaryKey && field.type !== 'string' ? 80 : (defaultWidths[field.type] ?? 180))
  );
}

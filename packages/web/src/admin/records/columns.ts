/** Which fields a grid shows, in which order and how wide: remembered for each collection in this browser. */
import type { Collection, Field } from '@tablinum/client';
import { useState } from 'react';
import { isRelation } from '../collections/field-types.ts';

export interface ColumnChoice {
  /** Names of the shown fields, in their order. */
  readonly shown: readonly string[];
  /** Name to pixels, where they were set. */
  readonly widths: Readonly<Record<string, number>>;
}

const mostAtFirst = 10;
const place = (application: string, collection: string): string => `tablinum.columns.${application}.${collection}`;

/** Fields that a column can show: no passwords, and a relation in the place of its foreign key. */
export function columnFields({ fields }: Collection): Field[] {
  const led = new Set(fields.filter((field) => field.type === 'belongsTo').map((field) => field.foreignKey));
  return fields.filter((field) => field.type !== 'password' && !led.has(field.name));
}

export function useColumns(
  application: string,
  collection: Collection,
): [ColumnChoice, (choice: ColumnChoice) => void] {
  const [choice, setChoice] = useState(() => remembered(application, collection));
  const change = (next: ColumnChoice): void => {
    setChoice(next);
    try {
      localStorage.setItem(place(application, collection.name), JSON.stringify(next));
    } catch {
      // Then it holds for this page alone.
    }
  };
  return [choice, change];
}

function remembered(application: string, collection: Collection): ColumnChoice {
  const names = new Set(columnFields(collection).map((field) => field.name));
  try {
    const kept = JSON.parse(localStorage.getItem(place(application, collection.name)) ?? 'null') as ColumnChoice | null;
    const shown = kept?.shown.filter((name) => names.has(name)) ?? [];
    if (kept && shown.length > 0) return { shown, widths: kept.widths };
  } catch {
    // What cannot be read is not there.
  }
  return { shown: atFirst(collection), widths: {} };
}

/** Own fields first, then what the server keeps; to-many relations when they are asked for. */
function atFirst(collection: Collection): string[] {
  const fields = columnFields(collection).filter(
    (field) => !isRelation(field.type) || field.type === 'belongsTo' || field.type === 'hasOne',
  );
  const own = fields.filter((field) => !field.readOnly).slice(0, mostAtFirst);
  const kept = fields.filter((field) => field.name === 'updatedAt');
  return [...own, ...kept].map((field) => field.name);
}

const widths: Readonly<Record<string, number>> = {
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

export function widthOf(field: Field, choice: ColumnChoice): number {
  return choice.widths[field.name] ?? (field.primaryKey && field.type !== 'string' ? 80 : (widths[field.type] ?? 180));
}

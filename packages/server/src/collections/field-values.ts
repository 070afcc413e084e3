import { type KeyedColumn, readColumn, writeValues } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { type ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { exactNumber, parseExactJson } from '../protocol/exact-json.ts';
import { exactValue, type FieldType, misfit } from '../schema/field-type.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { problemOfValue, valueCheck } from '../schema/value-schema.ts';
import type { DefinitionContext } from './definition-context.ts';

const shownOffenders = 5;

/**
 * Checks the values of a field, and writes those anew that its type has in another form: a time field has 12:30:00 for the text 12:30.
 *
 * @throws ApiError 422 with how many values do not hold under the field's definition, and the first of them.
 */
export async function checkValues(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  field: Field,
): Promise<void> {
  const check = valueCheck(field);
  const offenders = new Offenders(collection, context.mayList(collection.name));
  const place = placeOf(collection, field);
  for await (const values of readColumn(context.database, transaction, place)) {
    const written: { key: unknown; value: unknown }[] = [];
    for (const { key, value } of values) {
      const problem = check(value);
      const canonical = problem === null ? field.type.read(exactValue(field.type, value), field.definition) : misfit;
      if (canonical === misfit) offenders.add(key, problem ?? 'The value does not convert.');
      else if (typeof canonical === 'string' && canonical !== value) written.push({ key, value: canonical });
    }
    if (!offenders.any) await writeValues(context.database, transaction, place, written);
  }
  offenders.refuse('do not hold');
}

/** Fills a new column from the old one. @throws ApiError 422 when a value has no equal in the new type. */
export async function convertValues(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  from: Field,
  to: Field,
): Promise<void> {
  const check = valueCheck(to);
  const offenders = new Offenders(collection, context.mayList(collection.name));
  const place = placeOf(collection, to);
  for await (const values of readColumn(context.database, transaction, placeOf(collection, from))) {
    const written: { key: unknown; value: unknown }[] = [];
    for (const { key, value } of values) {
      const canonical = converted(value, check, to);
      if (canonical === misfit) offenders.add(key, check(value) ?? 'The value does not convert.');
      else written.push({ key, value: canonical });
    }
    if (!offenders.any) await writeValues(context.database, transaction, place, written);
  }
  offenders.refuse('do not convert');
}

/** A value in the form of another type, or {@link misfit} where it has no equal there. */
export function convertedValue(value: unknown, type: FieldType, definition: FieldDefinition): unknown {
  return converted(value, (each) => problemOfValue(type, definition, each), { type, definition });
}

function converted(
  value: unknown,
  check: (value: unknown) => string | null,
  { type, definition }: Pick<Field, 'type' | 'definition'>,
): unknown {
  const fitting = spellings(value).find((each) => check(each) === null);
  return fitting === undefined ? misfit : type.read(exactValue(type, fitting), definition);
}

/** A value as other types spell it: itself, its text, its number, its truth, its day, its JSON. */
function spellings(value: unknown): unknown[] {
  const result: unknown[] = [value];
  if (typeof value === 'number' || typeof value === 'boolean') result.push(String(value));
  if (typeof value === 'boolean') result.push(Number(value));
  if (value === 0 || value === 1) result.push(value === 1);
  if (typeof value === 'string') {
    const text = value.trim();
    if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) result.push(exactNumber(text));
    if (/^(true|false)$/i.test(text)) result.push(text.toLowerCase() === 'true');
    if (/^\d{4}-\d{2}-\d{2}T00:00:00\.000Z$/.test(text)) result.push(text.slice(0, 10));
    result.push([value], ...parsed(text));
  } else if (typeof value === 'object') result.push(JSON.stringify(value));
  return result;
}

function parsed(text: string): unknown[] {
  try {
    return [parseExactJson(text)];
  } catch {
    return [];
  }
}

function placeOf({ table, primaryKey }: Collection, field: Field): KeyedColumn {
  const key = { column: primaryKey.column!, storage: primaryKey.type.storage! };
  return { table, key, column: field.column!, storage: field.type.storage! };
}

class Offenders {
  readonly #collection: Collection;
  readonly #shown: number;
  readonly #first: string[] = [];
  #count = 0;

  constructor(collection: Collection, mayNameRecords: boolean) {
    this.#collection = collection;
    this.#shown = mayNameRecords ? shownOffenders : 0;
  }

  add(key: unknown, problem: string): void {
    this.#count += 1;
    if (this.#first.length < this.#shown)
      this.#first.push(`${this.#collection.primaryKey.name} ${String(key)}: ${problem}`);
  }

  get any(): boolean {
    return this.#count > 0;
  }

  refuse(what: string): void {
    if (this.any) throw this.#error(what);
  }

  #error(what: string): ApiError {
    const first = this.#first.length === 0 ? '' : `, the first: ${this.#first.join(' ')}`;
    return invalidDefinition({ type: `${this.#count} values ${what}${first || '.'}` });
  }
}

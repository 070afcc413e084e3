import { type KeyedColumn, readColumn, writeValues } from '../database/column-data.ts';
import type { Transaction } from '../database/database.ts';
import { type ApiError, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { exactNumber, parseExactJson } from '../protocol/exact-json.ts';
import { type FieldType, invalidOperand, toExactValue } from '../schema/field-type.ts';
import { type Collection, type ColumnField, type Field, requireColumnField } from '../schema/registry.ts';
import { compileValueCheck, findValueProblem } from '../schema/value-schema.ts';
import type { DefinitionContext } from './definition-context.ts';

const maxReportedErrors = 5;

/**
 * Checks all values of a field against its definition. Values that its type stores in another form are rewritten: a
 * time field stores 12:30 as 12:30:00.
 *
 * @throws ApiError 422 with the number of invalid values and the first of them.
 */
export async function checkValues(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  field: Field,
): Promise<void> {
  const check = compileValueCheck(field);
  const invalidValues = new InvalidValues(collection, context.mayList(collection.name));
  const column = toKeyedColumn(collection, field);
  for await (const values of readColumn(context.database, transaction, column)) {
    const written: { key: unknown; value: unknown }[] = [];
    for (const { key, value } of values) {
      const problem = check(value);
      const canonical =
        problem === null ? field.type.read(toExactValue(field.type, value), field.definition) : invalidOperand;
      if (canonical === invalidOperand) invalidValues.add(key, problem ?? 'The value cannot be converted.');
      else if (typeof canonical === 'string' && canonical !== value) written.push({ key, value: canonical });
    }
    if (!invalidValues.hasAny) await writeValues(context.database, transaction, column, written);
  }
  invalidValues.throwIfAny('cannot be stored under the new definition');
}

/**
 * Fills the column of `target` with the converted values of `source`.
 *
 * @throws ApiError 422 for values that cannot be converted.
 */
export async function convertColumn(
  context: DefinitionContext,
  transaction: Transaction,
  collection: Collection,
  { source, target }: { readonly source: Field; readonly target: Field },
): Promise<void> {
  const check = compileValueCheck(target);
  const invalidValues = new InvalidValues(collection, context.mayList(collection.name));
  const column = toKeyedColumn(collection, target);
  for await (const values of readColumn(context.database, transaction, toKeyedColumn(collection, source))) {
    const written: { key: unknown; value: unknown }[] = [];
    for (const { key, value } of values) {
      const canonical = convertWithCheck(value, check, target);
      if (canonical === invalidOperand) invalidValues.add(key, check(value) ?? 'The value cannot be converted.');
      else written.push({ key, value: canonical });
    }
    if (!invalidValues.hasAny) await writeValues(context.database, transaction, column, written);
  }
  invalidValues.throwIfAny('cannot be converted to the new type');
}

/** A value converted to another type, or {@link invalidOperand} if it cannot be converted. */
export function convertValue(value: unknown, type: FieldType, definition: FieldDefinition): unknown {
  return convertWithCheck(value, (each) => findValueProblem(type, definition, each), { type, definition });
}

function convertWithCheck(
  value: unknown,
  check: (value: unknown) => string | null,
  { type, definition }: Pick<Field, 'type' | 'definition'>,
): unknown {
  const fitting = listConversions(value).find((each) => check(each) === null);
  return fitting === undefined ? invalidOperand : type.read(toExactValue(type, fitting), definition);
}

/** The forms in which other types may accept a value: itself, its text, number, boolean, date and JSON. */
function listConversions(value: unknown): unknown[] {
  const result: unknown[] = [value];
  if (typeof value === 'number' || typeof value === 'boolean') result.push(String(value));
  if (typeof value === 'boolean') result.push(Number(value));
  if (value === 0 || value === 1) result.push(value === 1);
  if (typeof value === 'string') {
    const text = value.trim();
    if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) result.push(exactNumber(text));
    if (/^(true|false)$/i.test(text)) result.push(text.toLowerCase() === 'true');
    if (/^\d{4}-\d{2}-\d{2}T00:00:00\.000Z$/.test(text)) result.push(text.slice(0, 10));
    result.push([value], ...tryParseJson(text));
  } else if (typeof value === 'object') result.push(JSON.stringify(value));
  return result;
}

function tryParseJson(text: string): unknown[] {
  try {
    return [parseExactJson(text)];
  } catch {
    return [];
  }
}

function toKeyedColumn({ table, primaryKey }: Collection, field: Field): KeyedColumn {
  const { column, type } = requireColumnField(field);
  return { table, key: toKeyColumn(primaryKey), column, storage: type.storage };
}

/** The column of a primary key, as the statements over many values need it. */
export function toKeyColumn({ column, type }: ColumnField): KeyedColumn['key'] {
  return { column, storage: type.storage };
}

class InvalidValues {
  readonly #collection: Collection;
  readonly #maxReported: number;
  readonly #first: string[] = [];
  #count = 0;

  constructor(collection: Collection, mayNameRecord: boolean) {
    this.#collection = collection;
    this.#maxReported = mayNameRecord ? maxReportedErrors : 0;
  }

  add(key: unknown, problem: string): void {
    this.#count += 1;
    if (this.#first.length < this.#maxReported)
      this.#first.push(`${this.#collection.primaryKey.name} ${String(key)}: ${problem}`);
  }

  get hasAny(): boolean {
    return this.#count > 0;
  }

  throwIfAny(problem: string): void {
    if (this.hasAny) throw this.#error(problem);
  }

  #error(what: string): ApiError {
    const first = this.#first.length === 0 ? '' : `. Affected records: ${this.#first.join(' ')}`;
    return invalidDefinition({
      type: `${this.#count} ${this.#count === 1 ? 'value' : 'values'} ${what}${first || '.'}`,
    });
  }
}

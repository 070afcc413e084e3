/** The columns of a table that an export writes: one for each field, and for each field of a to-one relation. */
import { ApiError } from '../protocol/api-error.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { Grant } from '../query/grant.ts';
import { type Append, planSelection, type Selection } from '../query/selection.ts';
import { type RecordContext, toPlanContext } from '../records/record-context.ts';
import { requireRelation, requireStorage } from '../schema/field-parts.ts';
import { readDecimalScale } from '../schema/field-type.ts';
import type { Collection, Field } from '../schema/registry.ts';

/** How the values of a column are written. `number` is exact or floating; `json` is any JSON value, written as its text. */
export type CellKind = 'text' | 'number' | 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime' | 'time' | 'json';

export interface ExportColumn {
  /** The members of a record that lead to the value: `author`, `name`. */
  readonly path: readonly string[];
  /** `author.name` */
  readonly name: string;
  /** The titles of the path, or the names of fields without a title. */
  readonly title: string;
  readonly kind: CellKind;
  /** Digits after the point of a decimal. */
  readonly scale: number;
}

/** A record as its JSON text holds it. */
export type ExportedRecord = Readonly<Record<string, unknown>>;

/**
 * The columns of a request. They follow the order of `fields`, otherwise that of the definition.
 *
 * @throws ApiError 400 for unknown names or without any column, 403 for denied names.
 */
export function planExportColumns(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  grant: Grant,
): readonly ExportColumn[] {
  const selection = planSelection(request, collection, grant, toPlanContext(context));
  const columns = listColumns(selection, []);
  if (columns.length === 0)
    throw new ApiError('PARAMETER_INVALID', 'The export has no columns. Name at least one field in "fields".');
  return sortByRequest(columns, request.fields ?? []);
}

/** The value of a column; null also if a relation on its path names no record. */
export function readColumnValue(column: ExportColumn, record: ExportedRecord): unknown {
  let value: unknown = record;
  for (const name of column.path) {
    if (value === null) return null;
    value = (value as ExportedRecord)[name];
  }
  if (value !== undefined) return value;
  // The permissions were narrowed after the header was written. An empty cell would look like a null.
  const message = `The role may no longer read "${column.name}". The file is incomplete; export again.`;
  throw new ApiError('FIELD_DENIED', message);
}

function listColumns({ fields, appends }: Selection, parents: readonly Field[]): ExportColumn[] {
  const own = fields.map((field) => makeColumn([...parents, field], readKind(field)));
  return [...own, ...appends.flatMap((append) => listAppendedColumns(append, parents))];
}

/** A to-one relation has the columns of its record, a to-many relation one column with the list. */
function listAppendedColumns({ field, selection }: Append, parents: readonly Field[]): ExportColumn[] {
  const fields = [...parents, field];
  return requireRelation(field).many ? [makeColumn(fields, 'json')] : listColumns(selection, fields);
}

function makeColumn(fields: readonly Field[], kind: CellKind): ExportColumn {
  const path = fields.map(({ name }) => name);
  return {
    path,
    name: path.join('.'),
    title: fields.map(({ name, definition }) => definition.title ?? name).join(' / '),
    kind,
    scale: kind === 'decimal' ? (readDecimalScale(requireStorage(fields.at(-1)!)) ?? 0) : 0,
  };
}

function readKind(field: Field): CellKind {
  const storage = requireStorage(field);
  if (storage === 'integer' || storage === 'bigint') return 'integer';
  if (storage === 'double') return 'number';
  if (storage === 'boolean' || storage === 'datetime' || storage === 'json') return storage;
  if (storage !== 'text' && storage !== 'uuid') return 'decimal';
  const { name } = field.type;
  if (name === 'date' || name === 'datetime') return 'date'; // a datetime with `dateOnly` is stored as text
  return name === 'time' ? 'time' : 'text';
}

/** Columns that `fields` names come first, in its order. A relation in `fields` stands for all of its columns. */
function sortByRequest(columns: readonly ExportColumn[], names: readonly string[]): readonly ExportColumn[] {
  const readPosition = ({ name }: ExportColumn): number => {
    const exact = names.indexOf(name);
    const found = exact >= 0 ? exact : names.findIndex((each) => name.startsWith(`${each}.`));
    return found < 0 ? names.length : found;
  };
  return names.some((each) => !each.includes('.'))
    ? [...columns].sort((first, second) => readPosition(first) - readPosition(second))
    : columns;
}

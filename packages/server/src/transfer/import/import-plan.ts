/**
 * What an import does with each column of its file, under the caller's grants. A plan belongs to one snapshot of definitions and
 * permissions: each transaction of an import makes its own.
 */
import { ApiError } from '../../protocol/api-error.ts';
import type { ColumnMapping, ImportMode, ImportOptions } from '../../protocol/import-request.ts';
import { formatNames } from '../../protocol/known-names.ts';
import type { Grant } from '../../query/grant.ts';
import { fieldUnknown, permissionDenied } from '../../query/read-access.ts';
import { combineRowFilters } from '../../query/visibility.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { withGrants } from '../../records/with-grants.ts';
import { requireRelation } from '../../schema/field-parts.ts';
import { type Collection, type ColumnField, type Field, requireColumnField } from '../../schema/registry.ts';

/** The field of a related collection by which cells name its records. */
export interface ImportLookup {
  readonly collection: Collection;
  /** The unique field that the cells contain. */
  readonly field: ColumnField;
  /** The field that the foreign key contains. */
  readonly key: ColumnField;
}

/** A column whose cells are written. */
export interface ImportColumn {
  readonly index: number;
  /** The text of its header. */
  readonly name: string;
  readonly field: ColumnField;
  readonly lookup: ImportLookup | null;
}

export interface ImportPlan {
  readonly collection: Collection;
  readonly mode: ImportMode;
  readonly columns: readonly ImportColumn[];
  /** The number of columns of the file, also of those that are not imported. */
  readonly width: number;
  /** The columns by which records are found; empty in the mode `create`. */
  readonly match: readonly ImportColumn[];
}

/** The grants besides `import` that a mode needs. */
const grantsByMode: Readonly<Record<ImportMode, readonly string[]>> = {
  create: ['create'],
  update: ['update', 'list'],
  upsert: ['create', 'update', 'list'],
};

/** The names of the columns that a file of refused rows has before those of the source. */
export const refusedRowColumns = ['line', 'reason'] as const;

/**
 * The context in which an import writes: records must pass the row filter and the field list of `import` and those of the action.
 *
 * @throws ApiError `NO_PERMISSION` without one of the grants that the mode needs.
 */
export function toImportContext<T extends RecordContext>(context: T, collection: Collection, mode: ImportMode): T {
  const own = requireGrant(context, collection, 'import');
  let narrowed = context;
  for (const action of grantsByMode[mode]) {
    const grant = requireGrant(context, collection, action);
    if (action === 'list' || grant.identity === own.identity) continue;
    narrowed = withGrants(narrowed, { resource: collection.name, action, grant: intersectGrants(grant, own) });
  }
  return narrowed;
}

function intersectGrants(first: Grant, second: Grant): Grant {
  return {
    identity: `${first.identity} and ${second.identity}`,
    rows: combineRowFilters(first.rows, second.rows),
    may: (field) => first.may(field) && second.may(field),
  };
}

/** The columns of the file, and which fields they are for. */
export interface ImportedColumns {
  /** The texts of the header. */
  readonly names: readonly string[];
  readonly mapping: readonly ColumnMapping[];
}

/**
 * Plans an import.
 *
 * @param context from {@link toImportContext}.
 * @throws ApiError 400 for columns and fields that do not exist or do not fit together, 403 for fields that the role may not use.
 */
export function planImport(
  context: RecordContext,
  collection: Collection,
  { mode, matchFields }: Pick<ImportOptions, 'mode' | 'matchFields'>,
  { names, mapping }: ImportedColumns,
): ImportPlan {
  const columns = mapping
    .map((each) => planColumn(context, collection, names, each))
    .filter((each) => !each.field.serverManaged);
  if (columns.length === 0)
    throw new ApiError('PARAMETER_INVALID', 'The import has no columns. Map at least one of them to a field.');
  requireDistinct('field', columns, ({ field }) => field.name);
  requireDistinct('column', columns, ({ index }) => String(index));
  const match = mode === 'create' ? [] : planMatch(collection, columns, matchFields);
  const matched = new Set(match);
  for (const action of grantsByMode[mode]) {
    const grant = requireGrant(context, collection, action);
    for (const column of action === 'list' ? match : columns)
      if (!grant.may(column.field) && !(action === 'update' && matched.has(column)))
        throw deniedField(collection, column.field, action);
  }
  return { collection, mode, columns, width: names.length, match };
}

function planColumn(
  context: RecordContext,
  collection: Collection,
  names: readonly string[],
  { column, field: fieldName, lookup }: ColumnMapping,
): ImportColumn {
  const index = typeof column === 'number' ? column : names.indexOf(column);
  const name = names[index];
  if (name === undefined) throw unknownColumn(column, names);
  if (typeof column === 'string' && names.lastIndexOf(column) !== index)
    throw new ApiError(
      'PARAMETER_INVALID',
      `"mapping" names the column "${column.slice(0, 60)}", and the file has several of this name. Name it by its index.`,
    );
  const field = findField(context, collection, fieldName);
  return { index, name, field, lookup: lookup === undefined ? null : planLookup(context, collection, field, lookup) };
}

/** The column that a name stands for: a to-one relation stands for its foreign key. */
function findField(context: RecordContext, collection: Collection, name: string): ColumnField {
  const named = collection.byName.get(name);
  if (!named || named.hidden) throw fieldUnknown(collection, name, requireGrant(context, collection, 'import'));
  if (!named.relation) return requireColumnField(named);
  const { kind, sourceField } = named.relation;
  if (kind !== 'belongsTo')
    throw new ApiError(
      'PARAMETER_INVALID',
      `"mapping" names "${name}", which is a to-many relation of ${collection.name}. Import the records of the other collection instead.`,
    );
  return requireColumnField(requireField(collection, sourceField));
}

function requireField(collection: Collection, name: string): Field {
  const field = collection.byName.get(name);
  if (!field) throw new Error(`internal error: ${collection.name} has no field ${name}`);
  return field;
}

function planLookup(context: RecordContext, collection: Collection, field: ColumnField, name: string): ImportLookup {
  const relation = collection.fields.find(
    (each) => each.relation?.kind === 'belongsTo' && each.relation.sourceField === field.name,
  );
  if (!relation)
    throw new ApiError(
      'PARAMETER_INVALID',
      `"lookup" needs a foreign key, and "${field.name}" of ${collection.name} is none. Remove "lookup".`,
    );
  const { target: targetName, targetField } = requireRelation(relation);
  const target = context.registry.get(targetName);
  const grant = context.findGrant(targetName, 'list');
  if (!grant) throw permissionDenied(targetName, 'list');
  const found = target.byName.get(name);
  if (!found || found.hidden) throw fieldUnknown(target, name, grant);
  for (const each of [found, requireField(target, targetField)])
    if (!grant.may(each)) throw deniedField(target, each, 'list');
  if (!found.primaryKey && !found.definition.unique)
    throw new ApiError(
      'PARAMETER_INVALID',
      `"lookup" needs a unique field, and "${name}" of ${targetName} is not unique.`,
    );
  return {
    collection: target,
    field: requireColumnField(found),
    key: requireColumnField(requireField(target, targetField)),
  };
}

function planMatch(
  collection: Collection,
  columns: readonly ImportColumn[],
  matchFields: readonly string[] | null,
): readonly ImportColumn[] {
  return (matchFields ?? [collection.primaryKey.name]).map((name) => {
    const column = columns.find(({ field }) => field.name === name);
    if (!column)
      throw new ApiError(
        'PARAMETER_INVALID',
        `Records are found by "${name.slice(0, 60)}", but no column is mapped to this field. Map one, or name other fields in "matchFields".`,
      );
    if (column.field.type.storage === 'json' || column.field.type.secret)
      throw new ApiError('PARAMETER_INVALID', `"matchFields" names "${name}", whose values cannot be compared.`);
    return column;
  });
}

function requireDistinct(
  what: 'field' | 'column',
  columns: readonly ImportColumn[],
  read: (column: ImportColumn) => string,
): void {
  const seen = new Set<string>();
  for (const column of columns) {
    const key = read(column);
    if (seen.has(key))
      throw new ApiError('PARAMETER_INVALID', `"mapping" names the ${what} "${key.slice(0, 60)}" twice. Name it once.`);
    seen.add(key);
  }
}

function unknownColumn(column: number | string, names: readonly string[]): ApiError {
  const given = typeof column === 'number' ? `index ${column}` : `"${column.slice(0, 60)}"`;
  return new ApiError(
    'PARAMETER_INVALID',
    `"mapping" names a column that the file does not have: ${given}. Its columns are: ${formatNames(names)}.`,
  );
}

function deniedField({ name }: Collection, field: Field, action: string): ApiError {
  const may = action === 'list' ? 'read' : 'write';
  return new ApiError('FIELD_DENIED', `The role may not ${may} "${field.name}" of ${name}.`);
}

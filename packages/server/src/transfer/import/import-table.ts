/** The file of an import, and how its columns are read for one collection. */
import type { OpenBlob } from '../../base/blob-store.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { ColumnMapping, ImportFileOptions, ImportOptions } from '../../protocol/import-request.ts';
import { formatNames } from '../../protocol/known-names.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Collection } from '../../schema/registry.ts';
import { plainFormat } from '../read/cell-format.ts';
import { parseCell } from '../read/cell-value.ts';
import { type DerivedTable, deriveColumns } from '../read/derive-columns.ts';
import {
  listMappingTargets,
  type MappingTarget,
  type ProposedColumn,
  proposeMapping,
} from '../read/propose-mapping.ts';
import type { TableSource } from '../read/table-source.ts';
import { planImport, toImportContext } from './import-plan.ts';
import type { ColumnReader } from './import-row.ts';
import type { ReadyPlan } from './import-transaction.ts';

/** Rows from which the forms of numbers and dates are derived. For a new collection, all rows are read. */
const derivedRows = 10_000;

/** An opened file. */
export interface ImportTable {
  readonly table: TableSource;
  readonly derived: DerivedTable;
}

/**
 * Opens the file of an import.
 *
 * @param collection that it is imported into; null: a new one.
 * @throws ApiError as `openTable`.
 */
export async function openImportTable(
  bytes: OpenBlob,
  collection: Collection | null,
  options: ImportFileOptions,
): Promise<ImportTable> {
  const { openTable } = await import('../read/open-table.ts'); // loads libraries that only imports need
  const wholeMembers = collection && { wholeMembers: listWholeMembers(collection) };
  const table = await openTable(bytes, { ...options, ...wholeMembers });
  return { table, derived: await deriveColumns(table, collection ? { maxRows: derivedRows } : {}) };
}

function listWholeMembers({ fields }: Collection): ReadonlySet<string> {
  return new Set(fields.filter(({ type }) => type.storage === 'json').map(({ name }) => name));
}

/** The fields that the caller may import into, as proposed for each column. */
export function proposeColumns(
  context: RecordContext,
  collection: Collection,
  { columns }: TableSource,
): readonly ProposedColumn[] {
  const grant = requireGrant(context, collection, 'import');
  const mayMap = ({ field: name, lookup }: MappingTarget): boolean => {
    const field = collection.byName.get(name);
    if (!field || field.hidden || !grant.may(field)) return false;
    return lookup === null || mayLookUp(context, collection, name, lookup);
  };
  return proposeMapping(columns, listMappingTargets(collection, context.registry).filter(mayMap));
}

/** Whether the caller may find the records that a foreign key refers to by one of their fields. */
function mayLookUp(
  { findGrant, registry }: RecordContext,
  { fields }: Collection,
  key: string,
  lookup: string,
): boolean {
  const relation = fields.find(
    ({ relation: each }) => each?.kind === 'belongsTo' && each.sourceField === key,
  )?.relation;
  const target = relation && registry.find(relation.target);
  const grant = target && findGrant(target.name, 'list');
  if (!grant) return false;
  return [lookup, relation.targetField].every((name) => {
    const field = target.byName.get(name);
    return field !== undefined && grant.may(field);
  });
}

/**
 * The mapping of an import: that of its request, else the proposed one.
 *
 * @throws ApiError `FIELD_UNKNOWN` naming the columns for which there is no field, unless they may be left out.
 */
export function resolveMapping(
  context: RecordContext,
  collection: Collection,
  { mapping, ignoreUnknown }: Pick<ImportOptions, 'mapping' | 'ignoreUnknown'>,
  { table }: ImportTable,
): readonly ColumnMapping[] {
  if (mapping !== null) return mapping;
  const proposed = proposeColumns(context, collection, table);
  // Exports contain them, and an import sets them itself.
  const managed = new Set(
    collection.fields
      .filter(({ serverManaged }) => serverManaged)
      .flatMap(({ name, definition }) => [name, definition.title ?? name]),
  );
  const unknown = table.columns.filter((name, index) => {
    const column = proposed[index];
    return column?.field === null && !column.ignored && !managed.has(name);
  });
  if (unknown.length > 0 && !ignoreUnknown)
    throw new ApiError(
      'FIELD_UNKNOWN',
      `No field fits these columns: ${formatNames(unknown.map((name) => name.slice(0, 60)))}. Name their fields in "mapping", or send "ignoreUnknown=true" to leave them out.`,
    );
  return proposed.flatMap(({ field, lookup }, column) =>
    field === null ? [] : [{ column, field, ...(lookup !== null && { lookup }) }],
  );
}

/**
 * Plans an import under the permissions of a context.
 *
 * @param options with the mapping.
 * @throws ApiError 400 and 403, see {@link planImport}.
 */
export function prepareImport(
  context: RecordContext,
  collection: Collection,
  options: ImportOptions,
  imported: ImportTable,
): ReadyPlan {
  const { table } = imported;
  const narrowed = toImportContext(context, collection, options.mode);
  const plan = planImport(narrowed, collection, options, { names: table.columns, mapping: options.mapping ?? [] });
  return { context: narrowed, plan, readCell: createCellReader(imported, context.zone) };
}

/** Reads cells in the forms that were derived for their columns. */
export function createCellReader({ derived }: ImportTable, zone: string): ColumnReader {
  return (cell, index, { type }) =>
    parseCell(cell, type, { format: derived.columns[index]?.format ?? plainFormat, zone });
}

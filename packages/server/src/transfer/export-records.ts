/**
 * Exports: the records of a list without pages, as a file. Only what both the grant to list and the grant to export allow is
 * read; related records are read under the grants on their own collection.
 */
import { ApiError } from '../protocol/api-error.ts';
import type { ExportFormat, ExportOptions } from '../protocol/export-request.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { Grant } from '../query/grant.ts';
import { combineRowFilters } from '../query/visibility.ts';
import { requireGrant } from '../records/read/read-records.ts';
import type { JsonChunks } from '../records/read/stream-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';
import { writeCsv } from './csv-writer.ts';
import { planExportColumns } from './export-columns.ts';
import { type ExportTable, parseBatches } from './export-table.ts';
import { maxSheetColumns } from './xlsx-parts.ts';

/** The formats that hold a table. */
export type TableFormat = Extract<ExportFormat, 'csv' | 'xlsx'>;

/** Whether a format holds a table. The others hold the JSON texts of the list. */
export function isTableFormat(format: ExportFormat): format is TableFormat {
  return format === 'csv' || format === 'xlsx';
}

/** The rows and fields that both the grant to list and the grant to export allow. @throws ApiError 403 without one of them. */
export function requireExportGrant(context: RecordContext, collection: Collection): Grant {
  const list = requireGrant(context, collection, 'list');
  const own = requireGrant(context, collection, 'export');
  if (list.identity === own.identity) return list;
  return {
    identity: `${list.identity} and ${own.identity}`,
    rows: combineRowFilters(list.rows, own.rows),
    may: (field) => list.may(field) && own.may(field),
  };
}

/** What a table is written from. */
export interface ExportSource {
  readonly collection: Collection;
  readonly request: RecordRequest;
  readonly options: ExportOptions;
  /** JSON texts of the records. */
  readonly chunks: JsonChunks;
}

/**
 * The bytes of a table. The first records are read before this function returns, so that a refusal still has its HTTP
 * status.
 *
 * @throws ApiError as a list does; 400 for no columns, or more than a sheet can have.
 */
export async function exportTable(
  context: RecordContext,
  { collection, request, options, chunks }: ExportSource,
): Promise<AsyncGenerator<string | Uint8Array>> {
  const columns = planExportColumns(context, collection, request, requireExportGrant(context, collection));
  if (options.format === 'xlsx' && columns.length > maxSheetColumns)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `An XLSX file has at most ${maxSheetColumns} columns. Name fewer fields in "fields".`,
    );
  const table: ExportTable = {
    columns,
    header: options.header,
    zone: options.localTimes ? context.zone : null,
    title: collection.title ?? collection.name,
    batches: parseBatches(await chunks.next(), chunks),
  };
  if (options.format === 'csv') return writeCsv(table, options);
  const { writeXlsx } = await import('./xlsx-writer.ts'); // loads a library that only this format needs
  return writeXlsx(table);
}

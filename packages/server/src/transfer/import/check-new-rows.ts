/** Checks the rows of a file for a collection that does not exist yet. */
import { setImmediate } from 'node:timers/promises';
import type { RefusedRow } from '../../database/import-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { ColumnMapping } from '../../protocol/import-request.ts';
import type { Grant } from '../../query/grant.ts';
import { type RecordContext, readStamp } from '../../records/record-context.ts';
import { withGrants } from '../../records/with-grants.ts';
import { checkCreate } from '../../records/write/record-input.ts';
import type { Collection } from '../../schema/registry.ts';
import type { DryRunReport } from './dry-run-report.ts';
import { DryRunMemory } from './file-memory.ts';
import { planImport } from './import-plan.ts';
import { isRecordError, type RowRefusal, toImportRow, toRefusal, toRefusedRow } from './import-row.ts';
import { createCellReader, type ImportTable } from './import-table.ts';

const grant: Grant = { identity: 'new collection', rows: null, may: (field) => !field.hidden };
/** Rows between which other requests are processed. */
const yieldRows = 50;

/** A file, which field its columns are for, and where its bad rows are reported. */
interface MappedTable {
  readonly imported: ImportTable;
  readonly mapping: readonly ColumnMapping[];
  readonly report: DryRunReport;
}

/**
 * Checks values and unique fields. What only the database and extensions know is not checked: references to other collections, and hooks.
 *
 * @param collection that would be created.
 * @throws ApiError for a mapping that does not fit, and as the rows of the file.
 */
export async function checkNewRows(
  context: RecordContext,
  collection: Collection,
  { imported, mapping, report }: MappedTable,
  isAborted: () => boolean,
): Promise<void> {
  const { table } = imported;
  const narrowed = withGrants(context, { resource: collection.name, grant });
  const plan = planImport(
    narrowed,
    collection,
    { mode: 'create', matchFields: null },
    { names: table.columns, mapping },
  );
  const readCell = createCellReader(imported, context.zone);
  const memory = new DryRunMemory(plan);
  const stamp = readStamp(context);
  const findRefusal = (row: ReturnType<typeof toImportRow>): RowRefusal | null => {
    if (row.refusal) return row.refusal;
    try {
      checkCreate(row.values, collection, grant, stamp);
    } catch (error) {
      if (!isRecordError(error)) throw error;
      return toRefusal(error);
    }
    const conflict = memory.findConflict(row.values, null);
    if (!conflict) memory.note({ body: row.values, matchKey: null });
    return conflict;
  };
  for await (const batch of table.rows()) {
    if (isAborted()) throw new ApiError('STOPPING', 'The check was aborted.');
    const refused: RefusedRow[] = [];
    for (const [index, source] of batch.entries()) {
      if (index > 0 && index % yieldRows === 0) await setImmediate();
      const refusal = findRefusal(toImportRow(plan, source, readCell));
      if (refusal) refused.push(toRefusedRow(plan, source, refusal));
    }
    await report.add(batch.length, { created: batch.length - refused.length, updated: 0, refused });
  }
}

/** The transactions of imports: one for a short import, one for each part of a longer one, and those of a dry run. */
import { setImmediate } from 'node:timers/promises';
import { BackgroundPace } from '../../base/background-pace.ts';
import { isoTime } from '../../base/clock.ts';
import { TimeSlices } from '../../base/time-slices.ts';
import { recordEvent } from '../../changes/record-event.ts';
import type { Transaction } from '../../database/database.ts';
import {
  endImport,
  holdFile,
  type ImportCounts,
  type ImportState,
  insertImport,
  insertRefusedRows,
  type RefusedRow,
  storeImportCounts,
} from '../../database/import-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { ImportOptions } from '../../protocol/import-request.ts';
import { limits } from '../../protocol/limits.ts';
import { formatUploader } from '../../records/read/readable-files.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import { performDryRun } from '../../records/write/dry-run.ts';
import { hashBodySecrets } from '../../records/write/secrets.ts';
import type { SourceRow, TableSource } from '../read/table-source.ts';
import type { DryRunReport } from './dry-run-report.ts';
import { DryRunMemory } from './file-memory.ts';
import type { ImportPlan } from './import-plan.ts';
import type { FileMemory } from './import-row.ts';
import {
  type AcceptedRow,
  type ColumnReader,
  describeProblems,
  type ImportRow,
  toImportRow,
  toRowError,
} from './import-row.ts';
import { groupIntoParts } from './row-parts.ts';
import { type RowOutcome, writeRows } from './write-rows.ts';

/** What an import reads, and how its request has described it. */
export interface ImportInput {
  readonly collection: string;
  readonly filename: string | null;
  readonly sha256: string;
  /** The uploaded file that the bytes are from; null: they came with the request. */
  readonly fileId: number | null;
  readonly table: TableSource;
  /** With the mapping. */
  readonly options: ImportOptions;
}

/** A plan with the context that it is for, and with what converts the cells of its columns. */
export interface ReadyPlan {
  /** With the grants of the import. */
  readonly context: RecordContext;
  readonly plan: ImportPlan;
  readonly readCell: ColumnReader;
}

/** Refused rows that are stored at once. */
const storedRows = 100;

async function convertRows({ plan, readCell }: ReadyPlan, rows: readonly SourceRow[]): Promise<ImportRow[]> {
  const converted: ImportRow[] = [];
  const slices = new TimeSlices();
  for (const row of rows) {
    if (slices.isOver) await slices.next();
    converted.push(toImportRow(plan, row, readCell));
  }
  return converted;
}

/** The context with the hashes of all passwords of some rows, so that no transaction waits for them. */
function hashSecrets(
  context: RecordContext,
  { collection }: ImportPlan,
  rows: readonly ImportRow[],
): RecordContext | Promise<RecordContext> {
  const hasSecrets = collection.fields.some((field) => field.type.secret);
  return hasSecrets
    ? hashBodySecrets(
        context,
        collection,
        rows.map(({ values }) => values),
      )
    : context;
}

/** Whether records are found by fields without an index, which may take long. */
function isHeavy({ match }: ImportPlan): boolean {
  const [first] = match;
  return first !== undefined && !match.some(({ field }) => field.primaryKey || field.definition.unique);
}

/**
 * Stores an import that has not begun.
 *
 * @throws ApiError `RECORD_UNKNOWN` if its file was deleted meanwhile.
 */
export async function storeImport(
  { database, caller, clock, changes, requestId, zone }: RecordContext,
  transaction: Transaction,
  input: ImportInput,
  status: ImportState,
): Promise<number> {
  const { collection, filename, sha256, fileId, table, options } = input;
  if (fileId !== null && !(await holdFile(database, transaction, fileId)))
    throw new ApiError('RECORD_UNKNOWN', 'The file was deleted. Upload it again.');
  const owner = formatUploader(caller);
  if (owner === null) throw new ApiError('NO_PERMISSION', 'An import needs a credential.');
  const time = isoTime(clock.now());
  const row = {
    collection,
    filename,
    format: table.format,
    mode: options.mode,
    status,
    rows: null,
    owner,
    createdById: (caller.user?.['id'] as number | undefined) ?? null,
    sha256,
    options: { ...options, caller: describeCaller(caller), zone, requestId },
    columns: table.columns,
  };
  const id = await insertImport(database, transaction, row, time);
  await changes.append(transaction, recordEvent('imports', 'created', [id], { caller, requestId }), time);
  return id;
}

/** Who runs the later transactions of an import: a user in a role, or an API key. */
export interface StoredCaller {
  readonly type: 'session' | 'apiKey';
  /** Of the user, or of the key. */
  readonly id: number;
  readonly role: string;
}

function describeCaller({ type, credentialId, user, role }: RecordContext['caller']): StoredCaller {
  return type === 'apiKey'
    ? { type, id: credentialId ?? 0, role }
    : { type: 'session', id: Number(user?.['id'] ?? 0), role };
}

/**
 * Imports a few rows, all or none unless invalid ones may be left out.
 *
 * @param present reads the import for the reply.
 * @throws ApiError `IMPORT_INVALID` with the rows that are refused; then nothing is changed.
 */
export async function importAtOnce(
  ready: ReadyPlan,
  input: ImportInput,
  rows: readonly SourceRow[],
  present: (tx: TransactionContext, id: number) => Promise<string>,
): Promise<string> {
  const { plan, context } = ready;
  const converted = await convertRows(ready, rows);
  const hashed = await hashSecrets(context, plan, converted);
  const work = async (tx: TransactionContext): Promise<string> => {
    const id = await storeImport(tx, tx.tx, input, 'running');
    const outcome = await writeRows(tx, plan, converted);
    if (outcome.refused.length > 0 && !input.options.skipInvalid) throw importInvalid(outcome.refused);
    await storeOutcome(tx, id, outcome, { counts: noCounts, rows: rows.length });
    await endImport(tx.database, tx.tx, id, { status: 'done', error: null, time: isoTime(tx.clock.now()) });
    return present(tx, id);
  };
  return inTransaction(hashed, work, { heavy: isHeavy(plan) });
}

/** Refuses an import that may not skip rows, without changing anything. @throws ApiError `IMPORT_INVALID` */
export async function checkImport(
  ready: ReadyPlan,
  { skipInvalid }: Pick<ImportOptions, 'skipInvalid'>,
  rows: readonly SourceRow[],
): Promise<void> {
  const { refused } = await dryRunPart(ready, null, rows);
  if (refused.length > 0 && !skipInvalid) throw importInvalid(refused);
}

/** The error of an import that may not skip rows. */
function importInvalid(refused: readonly RefusedRow[]): ApiError {
  const shown = refused.slice(0, limits.importErrors).map(toRowError);
  const details = Object.fromEntries(shown.map(({ path, reason }) => [path, reason]));
  const [first] = shown;
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more, see errors)` : '';
  const message = `Some rows are invalid, so nothing was imported. Line ${first?.line}: ${first?.reason}${more}`;
  return new ApiError('IMPORT_INVALID', message, { details, rows: shown });
}

const noCounts: ImportCounts = { processed: 0, created: 0, updated: 0, refused: 0 };

/** How far an import had got before a transaction, and how many rows its file has, if that is known. */
export interface ImportProgress {
  readonly counts: ImportCounts;
  readonly rows: number | null;
}

/** Stores what has become of rows, in the transaction that writes them. */
async function storeOutcome(
  { database, tx }: TransactionContext,
  id: number,
  outcome: Omit<RowOutcome, 'accepted'>,
  { counts, rows }: ImportProgress,
): Promise<ImportCounts> {
  const { created, updated, refused } = outcome;
  for (let start = 0; start < refused.length; start += storedRows) {
    if (start > 0) await setImmediate();
    const stored = refused.slice(start, start + storedRows).map((row) => ({ ...row, reason: describeProblems(row) }));
    await insertRefusedRows(database, tx, id, stored);
  }
  const sum = {
    processed: counts.processed + created + updated + refused.length,
    created: counts.created + created,
    updated: counts.updated + updated,
    refused: counts.refused + refused.length,
  };
  await storeImportCounts(database, tx, id, { ...sum, rows });
  return sum;
}

/** A part of a longer import. */
export interface ImportPart extends ImportProgress {
  readonly id: number;
  readonly source: readonly SourceRow[];
  /** Whether progress is reported to listeners. */
  readonly isReported: boolean;
  /** Makes sure that the import still runs on this server. It is the first step of the transaction. */
  requireLease(transaction: Transaction): Promise<void>;
}

/**
 * Imports a part of a file, and stores in the same transaction how far the import has got. The transaction of the last rows also ends
 * the import, so that it cannot be cancelled or fail after all rows are written.
 */
export async function importPart(ready: ReadyPlan, part: ImportPart): Promise<ImportCounts> {
  const { plan, context } = ready;
  const converted = await convertRows(ready, part.source);
  const hashed = await hashSecrets(context, plan, converted);
  const work = async (tx: TransactionContext): Promise<ImportCounts> => {
    await part.requireLease(tx.tx);
    const counts = await storeOutcome(tx, part.id, await writeRows(tx, plan, converted), part);
    const isLast = counts.processed === part.rows;
    if (isLast)
      await endImport(tx.database, tx.tx, part.id, { status: 'done', error: null, time: isoTime(tx.clock.now()) });
    if (isLast || part.isReported) await reportImport(tx, tx.tx, part.id);
    return counts;
  };
  return inTransaction(hashed, work, { heavy: isHeavy(plan), lockKey: getImportLock(part.id) });
}

/** The lock of the transactions of one import: its parts, and its end. Without it, a cancel could collide with one part after another. */
export function getImportLock(id: number): string {
  return `import ${id}`;
}

/** Reports to listeners that an import has changed. */
export async function reportImport(
  { changes, clock, caller, requestId }: Pick<RecordContext, 'changes' | 'clock' | 'caller' | 'requestId'>,
  transaction: Transaction,
  id: number,
): Promise<void> {
  await changes.append(
    transaction,
    recordEvent('imports', 'updated', [id], { caller, requestId }),
    isoTime(clock.now()),
  );
}

/** Prepares the next transaction under the permissions of that moment. */
export type PrepareImport = () => Promise<ReadyPlan>;

/**
 * Runs the rows of a file through all checks, in transactions that are rolled back.
 *
 * @param isAborted true: nobody waits for the report any more.
 */
export async function dryRunImport(
  { rows }: TableSource,
  prepare: PrepareImport,
  report: DryRunReport,
  isAborted: () => boolean,
): Promise<void> {
  let memory: DryRunMemory | null = null;
  const pace = new BackgroundPace();
  for await (const part of groupIntoParts(rows())) {
    if (isAborted()) throw new ApiError('STOPPING', 'The dry run was aborted.');
    const ready = await prepare();
    memory ??= new DryRunMemory(ready.plan);
    const outcome = await dryRunPart(ready, memory, part);
    await noteRows(memory, outcome.accepted);
    await report.add(part.length, outcome);
    await pace.rest();
  }
}

async function noteRows(memory: DryRunMemory, rows: readonly AcceptedRow[]): Promise<void> {
  const slices = new TimeSlices();
  for (const row of rows) {
    if (slices.isOver) await slices.next();
    memory.note(row);
  }
}

async function dryRunPart(
  ready: ReadyPlan,
  memory: FileMemory | null,
  rows: readonly SourceRow[],
): Promise<RowOutcome> {
  const { plan, context } = ready;
  const converted = await convertRows(ready, rows);
  const hashed = await hashSecrets(context, plan, converted);
  return performDryRun(hashed, (tx) => writeRows(tx, plan, converted, memory), isHeavy(plan));
}

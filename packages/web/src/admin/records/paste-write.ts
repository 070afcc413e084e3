/** Writes a paste, and undoes it. Up to 200 records are one transaction. */
import { type Client, Failure, type Key, type RecordValues } from '@tablinum/client';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import type { PasteWrite } from './paste-plan.ts';

/** A record that a paste has written. Undoing and repeating change its version, and its key if it is created again. */
export interface PastedRecord {
  key: Key;
  /** The version after the last of these writes; null if it is not known. */
  version: number | null;
}

/** What a paste has written, as far as it is needed to undo and to repeat it. */
export interface PasteReceipt {
  readonly changed: readonly ChangedRecord[];
  readonly created: readonly CreatedRecord[];
}

interface ChangedRecord {
  readonly record: PastedRecord;
  /** The former values of the changed fields. */
  readonly before: RecordValues;
  readonly after: RecordValues;
}

interface CreatedRecord {
  readonly record: PastedRecord;
  readonly values: RecordValues;
}

/** An operation of a batch, and which record of the paste it writes. */
interface Operation {
  readonly op: 'create' | 'update' | 'destroy';
  readonly resource: string;
  readonly filterByTk?: Key;
  readonly values?: RecordValues;
  readonly ifMatch?: string;
}

/** The refusal of one of the writes. */
export class PasteRefused extends Error {
  readonly failure: Failure;
  /** The index of the refused write; null if the refusal names none. */
  readonly write: number | null;
  /** The property that was refused; null if it is the whole record. */
  readonly member: string | null;

  constructor(failure: Failure, firstOperation: number) {
    const paths = Object.entries(failure.details).map(([path, text]) => ({ ...parsePath(path), text }));
    const found = paths.find(({ member }) => member !== null) ?? paths[0];
    super(found?.text ?? failure.message);
    this.failure = failure;
    this.write = found?.operation == null ? null : firstOperation + found.operation;
    this.member = found?.member ?? null;
  }
}

/** The operation and the property of `operations[3].values.title`. */
function parsePath(path: string): { readonly operation: number | null; readonly member: string | null } {
  const [, operation, member] = /^operations\[(\d+)\](?:\.values\.([^.[]+))?/.exec(path) ?? [];
  return { operation: operation === undefined ? null : Number(operation), member: member ?? null };
}

const operationsPerBatch = 200;

/**
 * Writes the records of a paste. Nothing is written if a record is refused, or has been changed since it was read. More
 * than 200 records are several transactions: all are checked first, and undone if a later one is refused nevertheless.
 *
 * @param keyField the name of the primary key.
 * @throws PasteRefused
 */
export async function writePaste(
  client: Client,
  resource: string,
  keyField: string,
  writes: readonly PasteWrite[],
): Promise<PasteReceipt> {
  const operations = writes.map(({ row, values }): Operation => {
    if (!row) return { op: 'create', resource, values };
    return { op: 'update', resource, filterByTk: row.key, values, ...toIfMatch(row.version) };
  });
  let receipt: PasteReceipt = { changed: [], created: [] };
  const handleResults = (results: readonly unknown[], first: number): void => {
    receipt = addResults(receipt, results as RecordValues[], writes.slice(first), keyField);
  };
  try {
    await runBatches(client, operations, handleResults);
  } catch (error) {
    if (receipt.changed.length + receipt.created.length > 0) await undoPaste(client, resource, receipt);
    throw error;
  }
  return receipt;
}

function addResults(
  receipt: PasteReceipt,
  results: readonly RecordValues[],
  writes: readonly PasteWrite[],
  keyField: string,
): PasteReceipt {
  const changed = [...receipt.changed];
  const created = [...receipt.created];
  for (const [index, result] of results.entries()) {
    const { row, values = {} } = writes[index] ?? {};
    if (!row) created.push({ record: { key: result[keyField] as Key, version: 1 }, values });
    else {
      const record = { key: row.key, version: nextVersion(row.version) };
      changed.push({ record, before: pick(row.values, values), after: values });
    }
  }
  return { changed, created };
}

function nextVersion(version: number | null): number | null {
  return version === null ? null : version + 1;
}

function pick(values: RecordValues, members: RecordValues): RecordValues {
  return Object.fromEntries(Object.keys(members).map((name) => [name, values[name] ?? null]));
}

/**
 * Restores the former values, and deletes the records that were created.
 *
 * @throws PasteRefused `VERSION_STALE` if somebody has changed one of the records since. Nothing is changed then.
 */
export async function undoPaste(client: Client, resource: string, { changed, created }: PasteReceipt): Promise<void> {
  const operations = [
    ...changed.map(({ record: { key, version }, before }): Operation => {
      return { op: 'update', resource, filterByTk: key, values: before, ...toIfMatch(version) };
    }),
    ...created.map(({ record: { key, version } }): Operation => {
      return { op: 'destroy', resource, filterByTk: key, ...toIfMatch(version) };
    }),
  ];
  await runBatches(client, operations, () => {});
  for (const { record } of changed) record.version = nextVersion(record.version);
}

/**
 * Writes the values of a paste again that was undone. The records that it created get new keys.
 *
 * @throws PasteRefused as {@link undoPaste}.
 */
export async function repeatPaste(
  client: Client,
  resource: string,
  keyField: string,
  { changed, created }: PasteReceipt,
): Promise<void> {
  const operations = [
    ...changed.map(({ record: { key, version }, after }): Operation => {
      return { op: 'update', resource, filterByTk: key, values: after, ...toIfMatch(version) };
    }),
    ...created.map(({ values }): Operation => ({ op: 'create', resource, values })),
  ];
  const results: unknown[] = [];
  await runBatches(client, operations, (part) => void results.push(...part));
  for (const { record } of changed) record.version = nextVersion(record.version);
  for (const [index, { record }] of created.entries()) {
    record.key = (results[changed.length + index] as RecordValues)[keyField] as Key;
    record.version = 1;
  }
}

function toIfMatch(version: number | null): { readonly ifMatch?: string } {
  return version === null ? {} : { ifMatch: `"${version}"` };
}

async function runBatches(
  client: Client,
  operations: readonly Operation[],
  handleResults: (results: readonly unknown[], first: number) => void,
): Promise<void> {
  if (operations.length > operationsPerBatch) await sendBatches(client, operations, { dryRun: true }, () => {});
  await sendBatches(client, operations, {}, handleResults);
}

async function sendBatches(
  client: Client,
  operations: readonly Operation[],
  query: { readonly dryRun?: true },
  handleResults: (results: readonly unknown[], first: number) => void,
): Promise<void> {
  for (let first = 0; first < operations.length; first += operationsPerBatch) {
    const body = { operations: operations.slice(first, first + operationsPerBatch).map(escapeReferences) };
    const key = query.dryRun ? {} : { idempotencyKey: createIdempotencyKey() };
    try {
      const { data } = await client.call<unknown[]>('batch', { method: 'POST', query, body, ...key });
      handleResults(data, first);
    } catch (error) {
      throw error instanceof Failure ? new PasteRefused(error, first) : error;
    }
  }
}

/** In a batch, a text that begins with `$` refers to another operation. `$$` stands for the character. */
function escapeReferences(operation: Operation): Operation {
  const { filterByTk: key, values } = operation;
  return {
    ...operation,
    ...(key !== undefined && { filterByTk: escapeValue(key) as Key }),
    ...(values && { values: escapeValue(values) as RecordValues }),
  };
}

function escapeValue(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('$') ? `$${value}` : value;
  if (Array.isArray(value)) return value.map(escapeValue);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, escapeValue(each)]));
}

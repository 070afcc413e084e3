/** A copy that another server builds. Only rows that it lacks are sent; it never replies with rows, only with their digests. */
import { Readable } from 'node:stream';
import type { BlobScope, BlobStore, OpenBlob } from '../../base/blob-store.ts';
import type { MoveReader, RowChanges } from '../../database/move/move-stores.ts';
import { type MovedRow, type MovedTable, readRowKey } from '../../database/move/moved-table.ts';
import { requireApplied, splitChanges } from './apply-changes.ts';
import { type BlobReceiver, copyBlobs, type KnownBlobs } from './copy-blobs.ts';
import { type CopiedBlobs, type CopyEnd, type CopyTarget, type CreatedParts, describeTable } from './copy-target.ts';
import { listTableChanges } from './local-target.ts';
import {
  encodeBlobs,
  type MoveMessageStep,
  type MoveMessages,
  type MoveStep,
  movePieceLength,
  namesInMessage,
  type RangeBounds,
  type SmallBlob,
} from './move-protocol.ts';
import type { TablePlan } from './plan-tables.ts';
import { digestRows, type RowsDigest, type TableComparison } from './sync-table.ts';
import { TableDigests } from './table-digests.ts';

/** Sends the steps of one move. @throws Error with a message for the operator. */
export interface MoveChannel {
  send<Step extends MoveMessageStep>(
    step: Step,
    message: MoveMessages[Step]['sent'],
  ): Promise<MoveMessages[Step]['reply']>;
  sendBytes(
    step: Extract<MoveStep, 'blob' | 'blobs'>,
    /** Is called again if the step is repeated. */
    openBody: () => Buffer | Readable,
    parameters: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** Ends the requests that run, and refuses all others. */
  close(): void;
}

export class RemoteCopyTarget implements CopyTarget {
  readonly #channel: MoveChannel;
  readonly #known: KnownBlobs = new Map();

  constructor(channel: MoveChannel) {
    this.#channel = channel;
  }

  async createFixedTables(): Promise<void> {
    await this.#channel.send('prepare', {});
  }

  async createTables(plan: TablePlan, { created, save }: CreatedParts): Promise<boolean> {
    const tables = Object.fromEntries(plan.created.map(({ table }) => [table, describeTable(plan, table) ?? '']));
    const changes = listTableChanges(plan, created);
    // A table is only listed as created while it matches its stored definition exactly, so that an interruption cannot
    // leave a wrong entry.
    for (const table of changes.dropped) delete created[table];
    await save();
    const reply = await this.#channel.send('create', { tables, ...changes });
    if (reply.created === null) return false;
    Object.assign(created, reply.created);
    await save();
    return true;
  }

  async syncTable(source: MoveReader, table: MovedTable): Promise<TableComparison> {
    const comparison = new RemoteComparison(this.#channel, table);
    let after: MovedRow | null = null;
    let rows: readonly MovedRow[] | null = null;
    for await (const batch of source.rows(table)) {
      const last = rows?.at(-1);
      if (rows && last) {
        const until = readRowKey(table, last);
        await comparison.add({ after, until, rows });
        after = until;
      }
      rows = batch;
    }
    // The last range has no end, so that rows of the target that follow are removed.
    await comparison.add({ after, until: null, rows: rows ?? [] });
    return comparison.end();
  }

  async applyChanges(table: MovedTable, changes: RowChanges): Promise<void> {
    for (const piece of splitChanges(changes))
      await requireApplied(table, piece, await this.#channel.send('apply', { table: table.table, ...piece }));
  }

  copyBlobs(from: BlobStore, onBlob: () => void): Promise<CopiedBlobs> {
    return copyBlobs(from, new BlobSender(this.#channel), { known: this.#known, onBlob });
  }

  async analyse(): Promise<void> {
    await this.#channel.send('analyse', {});
  }

  async tryToComplete(): Promise<void> {}

  async complete({ versions, generated }: CopyEnd): Promise<void> {
    await this.#channel.send('complete', { versions, generated });
  }

  async close(): Promise<void> {
    this.#channel.close();
  }
}

interface RowRange extends RangeBounds {
  readonly rows: readonly MovedRow[];
}

/** Compares ranges of one table. While the server compares some, the next ones are read. */
class RemoteComparison {
  readonly #channel: MoveChannel;
  readonly #table: MovedTable;
  readonly #digests = new TableDigests();
  #ranges: RowRange[] = [];
  #length = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(channel: MoveChannel, table: MovedTable) {
    this.#channel = channel;
    this.#table = table;
  }

  async add(range: RowRange): Promise<void> {
    this.#ranges.push(range);
    for (const row of range.rows) for (const each of row) this.#length += each?.length ?? 4;
    if (this.#length >= movePieceLength) await this.#flush();
  }

  async end(): Promise<TableComparison> {
    await this.#flush();
    await this.#running;
    return this.#digests.end();
  }

  async #flush(): Promise<void> {
    const ranges = this.#ranges;
    [this.#ranges, this.#length] = [[], 0];
    await this.#running;
    this.#running = this.#compare(ranges);
    this.#running.catch(() => {}); // awaited by the next call
  }

  async #compare(ranges: readonly RowRange[]): Promise<void> {
    const { table } = this.#table;
    const bounds = ranges.map(({ after, until }) => ({ after, until }));
    const reply = await this.#channel.send('compare', { table, ranges: bounds });
    for (const [index, range] of ranges.entries()) {
      const source = await digestRows([range.rows]);
      const target = reply.ranges[index] ?? { rows: 0, sha256: '' };
      const changed = isEqual(source, target) ? 0 : (await this.#channel.send('rows', { table, ...range })).changed;
      this.#digests.add({ source, target, changed });
    }
  }
}

function isEqual(one: RowsDigest, other: RowsDigest): boolean {
  return one.rows === other.rows && one.sha256 === other.sha256;
}

/** Sends small blobs together. */
class BlobSender implements BlobReceiver {
  readonly #channel: MoveChannel;
  #scope: BlobScope = 0;
  #small: SmallBlob[] = [];
  #length = 0;

  constructor(channel: MoveChannel) {
    this.#channel = channel;
  }

  async findMissing(scope: BlobScope, names: readonly string[]): Promise<string[]> {
    await this.flush();
    this.#scope = scope;
    const missing: string[] = [];
    for (let first = 0; first < names.length; first += namesInMessage) {
      const requested = names.slice(first, first + namesInMessage);
      missing.push(...(await this.#channel.send('missing', { scope, names: requested })).missing);
    }
    return missing;
  }

  async receive(scope: BlobScope, name: string, blob: OpenBlob): Promise<void> {
    const read = (): AsyncGenerator<Uint8Array> => blob.read(0, blob.size - 1);
    if (blob.size >= movePieceLength)
      return this.#channel.sendBytes('blob', () => Readable.from(read()), { scope: String(scope), name });
    const bytes: Uint8Array[] = [];
    for await (const piece of read()) bytes.push(piece);
    this.#small.push({ name, bytes: Buffer.concat(bytes) });
    this.#length += blob.size;
    if (this.#length >= movePieceLength || this.#small.length >= namesInMessage) await this.flush();
  }

  async flush(): Promise<void> {
    const blobs = this.#small;
    [this.#small, this.#length] = [[], 0];
    if (blobs.length === 0) return;
    const body = encodeBlobs(blobs);
    await this.#channel.sendBytes('blobs', () => body, { scope: String(this.#scope) });
  }
}

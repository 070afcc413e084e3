/**
 * The messages of a move to another server, which are bodies of `applications:receive`. Only `tablinum move` sends them, and both sides
 * have the same version of the store.
 */
import type { RowChanges } from '../../database/move/move-stores.ts';
import type { MovedRow } from '../../database/move/moved-table.ts';
import type { CopyEnd, CreatedTables } from './copy-target.ts';
import type { RowsDigest } from './sync-table.ts';

/** `blob` and `blobs` have bytes as their body, all others one of {@link MoveMessages} as JSON. */
export const moveSteps = [
  'check',
  'prepare',
  'create',
  'compare',
  'rows',
  'apply',
  'missing',
  'blobs',
  'blob',
  'analyse',
  'complete',
  'place',
] as const;
export type MoveStep = (typeof moveSteps)[number];

/** A range of the rows of a table, see `KeyRange`. */
export interface RangeBounds {
  readonly after: MovedRow | null;
  readonly until: MovedRow | null;
}

/** What each step sends, and its reply. */
export interface MoveMessages {
  /** Whether the server can receive a move. It needs no application. */
  readonly check: { sent: { readonly store: number }; reply: object };
  readonly prepare: { sent: object; reply: object };
  /** The reply has the new tables; null: the received definitions are not those that were sent. */
  readonly create: {
    sent: { readonly tables: CreatedTables; readonly dropped: readonly string[]; readonly missing: readonly string[] };
    reply: { readonly created: CreatedTables | null };
  };
  readonly compare: {
    sent: { readonly table: string; readonly ranges: readonly RangeBounds[] };
    reply: { readonly ranges: readonly RowsDigest[] };
  };
  readonly rows: {
    sent: RangeBounds & { readonly table: string; readonly rows: readonly MovedRow[] };
    reply: { readonly changed: number };
  };
  /** The reply describes the rows that the table then has with the keys of the message. */
  readonly apply: { sent: RowChanges & { readonly table: string }; reply: RowsDigest };
  readonly missing: {
    sent: { readonly scope: number; readonly names: readonly string[] };
    reply: { readonly missing: readonly string[] };
  };
  readonly analyse: { sent: object; reply: object };
  readonly complete: { sent: Omit<CopyEnd, 'application'>; reply: object };
  readonly place: { sent: object; reply: object };
}
export type MoveMessageStep = keyof MoveMessages;

/** Rows and small blobs are sent in pieces of about this many characters or bytes. A piece has at least one row. */
export const movePieceLength = 4 * 1024 * 1024;
/** The longest body of a step, in bytes; a blob of its own may be longer. */
export const maxMoveBody = 256 * 1024 * 1024;

/** Names in one message. */
export const namesInMessage = 10_000;

/** The display name of an application of the target until it is put in place. No other application can be written by a move. */
export function describeMovedApplication(moveId: string): string {
  return `Being moved (${moveId})`;
}

export interface SmallBlob {
  /** Its SHA-256. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Small blobs as one body: the length of a list in four bytes, the list of names and lengths as JSON, and the bytes. */
export function encodeBlobs(blobs: readonly SmallBlob[]): Buffer {
  const list = Buffer.from(JSON.stringify(blobs.map(({ name, bytes }) => [name, bytes.length])));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(list.length);
  return Buffer.concat([head, list, ...blobs.map(({ bytes }) => bytes)]);
}

/** @throws Error if the body is none of {@link encodeBlobs}. */
export function decodeBlobs(body: Buffer): SmallBlob[] {
  const end = 4 + body.readUInt32BE(0);
  const list = JSON.parse(body.subarray(4, end).toString()) as [name: string, length: number][];
  let offset = end;
  const blobs = list.map(([name, length]) => {
    const bytes = body.subarray(offset, offset + length);
    offset += length;
    return { name, bytes };
  });
  if (offset !== body.length) throw new RangeError('The lengths of the blobs are not that of the body.');
  return blobs;
}

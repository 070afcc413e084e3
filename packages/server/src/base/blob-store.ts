/** Bytes addressed by their SHA-256: equal bytes of one scope are stored once. */
export interface NewBlob {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** Bytes that were stored while they arrived. */
export interface ReceivedBlob {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly size: number;
}

/** Bytes that are read in pieces, as fast as the consumer takes them. */
export interface OpenBlob {
  readonly size: number;
  /** Both ends are inclusive. Nothing stays open if the consumer stops early. */
  read(from: number, to: number): AsyncGenerator<Uint8Array>;
}

/** The owner of blobs: the id of a mail account, {@link fileScope} or {@link thumbnailScope}. */
export type BlobScope = number;

/** The blobs of the collection `files`. Ids of mail accounts begin at 1. */
export const fileScope: BlobScope = 0;

/** The thumbnails of these files. They can be generated again, so backups leave them out. */
export const thumbnailScope: BlobScope = -1;

/** Blobs are stored before anything refers to them, so younger blobs may be about to get a reference. */
export const unreferencedGraceMilliseconds = 86_400_000;

/**
 * The storage of blobs does not respond or refuses access. The failed call has stored nothing, and a retry can help.
 */
export class BlobStoreFault extends Error {}

export interface BlobStore {
  /** Stores bytes; they are durable when it resolves. Existing blobs are not written again. */
  put(scope: BlobScope, blobs: readonly NewBlob[]): Promise<void>;
  /**
   * Stores bytes while they arrive; they are durable when it resolves. If `bytes` fails, nothing remains. {@link
   * findStoredBefore} finds the remains of a crash.
   */
  receive(scope: BlobScope, bytes: AsyncIterable<Uint8Array>): Promise<ReceivedBlob>;
  /** @returns null if it does not exist. */
  get(scope: BlobScope, sha256: string): Promise<Buffer | null>;
  /** Opens a blob without reading it. @returns null if it does not exist. */
  open(scope: BlobScope, sha256: string): Promise<OpenBlob | null>;
  /** Returns the given names that are stored. */
  findPresent(scope: BlobScope, names: readonly string[]): Promise<string[]>;
  /**
   * The names of blobs that were stored before a time, in milliseconds since the epoch (infinite: all): their SHA-256,
   * or other names for the remains of an aborted {@link receive}.
   */
  findStoredBefore(scope: BlobScope, time: number): Promise<string[]>;
  /**
   * Removes blobs, except those that were stored again after the time `before`, because a new reference to them may
   * follow. A store without transactions can still read removed blobs until a second removal a day later.
   */
  remove(scope: BlobScope, names: readonly string[], before: number): Promise<void>;
  /** The scopes that have blobs. */
  scopes(): Promise<BlobScope[]>;
}

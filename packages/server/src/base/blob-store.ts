/** Bytes of an account, addressed by their SHA-256: equal bytes are stored once. */
export interface NewBlob {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** Bytes that are read in pieces, as fast as the consumer takes them. */
export interface OpenBlob {
  readonly size: number;
  /** Both ends are inclusive. Nothing stays open if the consumer stops early. */
  read(from: number, to: number): AsyncGenerator<Uint8Array>;
}

export interface BlobStore {
  /** Stores bytes; they are durable when it resolves. Existing blobs are not written again. */
  put(account: number, blobs: readonly NewBlob[]): Promise<void>;
  /** @returns null if it does not exist. */
  get(account: number, sha256: string): Promise<Buffer | null>;
  /** Opens a blob without reading it. @returns null if it does not exist. */
  open(account: number, sha256: string): Promise<OpenBlob | null>;
  /** The SHA-256 of blobs that were stored before a time, in milliseconds since the epoch. */
  findStoredBefore(account: number, time: number): Promise<string[]>;
  /** Removes blobs that have not been stored again since the time `before`: a new reference to them may follow. */
  remove(account: number, sha256s: readonly string[], before: number): Promise<void>;
  /** The accounts that have blobs. */
  accounts(): Promise<number[]>;
}

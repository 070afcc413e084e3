/** Bytes that belong to an account of an application, by their SHA-256: the same bytes lie there once. */
export interface NewBlob {
  /** In hexadecimal. */
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** Bytes that are read piece by piece, as fast as somebody takes them. */
export interface OpenBlob {
  readonly size: number;
  /** Both ends included; whoever stops early leaves nothing open. */
  read(from: number, to: number): AsyncGenerator<Uint8Array>;
}

export interface BlobStore {
  /** Keeps bytes; they are durable when it resolves. What is there already stays. */
  put(account: number, blobs: readonly NewBlob[]): Promise<void>;
  /** Null where there is none. */
  get(account: number, sha256: string): Promise<Buffer | null>;
  /** Without reading it; null where there is none. */
  open(account: number, sha256: string): Promise<OpenBlob | null>;
  /** The SHA-256 of what was kept before a moment (milliseconds since the epoch): what nothing refers to may go. */
  findStoredBefore(account: number, time: number): Promise<string[]>;
  /** Removes what has not been kept again since that moment: somebody may be about to refer to it. */
  remove(account: number, sha256s: readonly string[], before: number): Promise<void>;
  /** The accounts that have blobs. */
  accounts(): Promise<number[]>;
}

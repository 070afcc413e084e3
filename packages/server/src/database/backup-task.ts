/** The tasks of the process that makes and reads backups, and completes copies of moves. All values can be sent between processes. */
import type { BackupReason } from './backup-manifest.ts';
import type { MovedVersions } from './move/move-stores.ts';
import type { BegunMove } from './store-nodes.ts';

/** Where a backup is. */
export interface StoredBackup {
  /** The folder of the backup; a scratch folder if the backup is in the bucket. */
  readonly folder: string;
  /** Its name in the bucket of the source; null: it is only in the folder. */
  readonly inBucket: string | null;
}

/** A complete backup to store in the bucket. */
export interface UploadRequest {
  readonly folder: string;
  readonly inBucket: string;
}

/** The folder must not exist. */
export interface SaveRequest extends StoredBackup {
  /** The only application; null for all. */
  readonly application: string | null;
  /** Null: the command line. */
  readonly reason: BackupReason | null;
}

export interface NewStoreRequest extends StoredBackup {
  /** The name of the application in the backup. */
  readonly application: string;
  /** The name of the store to create. */
  readonly store: string;
  /** Secret keys of age; empty if the backup is not encrypted. */
  readonly identities: readonly string[];
  /** Whether the application is a copy next to the original: then it sends nothing and connects to no mail server. */
  readonly isCopy: boolean;
}

/** The data of `main` to restore. */
export interface NewMainRequest extends Omit<NewStoreRequest, 'store' | 'isCopy'> {
  /** The name of its event log, a UUID. */
  readonly epoch: string;
}

/** A copy of a move that has all rows. */
export interface CompleteMoveRequest {
  readonly application: string;
  readonly store: string;
  readonly versions: MovedVersions;
  /** The largest keys that were ever generated, by table. */
  readonly generated: Readonly<Record<string, string>>;
}

export type BackupTask =
  | { readonly kind: 'save'; readonly request: SaveRequest }
  | { readonly kind: 'upload'; readonly request: UploadRequest }
  | { readonly kind: 'createStore'; readonly request: NewStoreRequest }
  | { readonly kind: 'removeStorePart'; readonly store: string }
  | { readonly kind: 'prepareMain'; readonly request: NewMainRequest }
  | { readonly kind: 'removeMainPart' }
  | { readonly kind: 'completeMove'; readonly request: CompleteMoveRequest }
  | { readonly kind: 'copyToNode'; readonly move: BegunMove };

/** Copies the blobs of a store that are only in the bucket of files to a folder. */
export type CopyBlobs = (store: string, folder: string) => Promise<void>;

/** The progress of a backup. */
export interface BackupProgress {
  /** Applications that are saved, and all of them as far as their number is known. */
  readonly done: number;
  readonly total: number;
  /** Written so far, without the bytes of files. */
  readonly bytes: number;
  /** Bytes stored in the bucket so far; null: there is no bucket, or the upload has not begun. */
  readonly storedBytes: number | null;
}

/** The messages of the backup process to the server: progress, and at the end either `done` or `failed`. */
export type BackupProcessMessage =
  | { readonly kind: 'progress'; readonly progress: BackupProgress }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly problem: string };

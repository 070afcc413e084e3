/** The tasks of the thread that makes and reads backups. All values can be sent to a thread. */
import type { BackupReason } from './backup-manifest.ts';

export interface SaveRequest {
  /** It must not exist. */
  readonly folder: string;
  /** The only application; null for all. */
  readonly application: string | null;
  /** Null: the command line. */
  readonly reason: BackupReason | null;
}

export interface NewStoreRequest {
  /** Of the backup. */
  readonly folder: string;
  /** The name of the application in the backup. */
  readonly application: string;
  /** The name of the store to create. */
  readonly store: string;
  /** Secret keys of age; empty where the backup is not encrypted. */
  readonly identities: readonly string[];
  /** Whether the application is a copy next to the original: then it sends nothing and connects to no mail server. */
  readonly isCopy: boolean;
}

export type BackupTask =
  | { readonly kind: 'save'; readonly request: SaveRequest }
  | { readonly kind: 'createStore'; readonly request: NewStoreRequest }
  | { readonly kind: 'removeStorePart'; readonly store: string };

/** The progress of a backup. */
export interface BackupProgress {
  /** Applications that are saved, and all of them as far as their number is known. */
  readonly done: number;
  readonly total: number;
  /** Written so far, without the bytes of files. */
  readonly bytes: number;
}

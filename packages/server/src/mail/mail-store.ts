/** Mail of one application: what brings messages in, and where their bytes lie. */
import type { BlobStore } from '../base/blob-store.ts';
import { type IngestParts, MailIngest } from './store/ingest.ts';

export class MailStore {
  readonly ingest: MailIngest;
  readonly blobs: BlobStore;

  constructor(parts: IngestParts) {
    this.ingest = new MailIngest(parts);
    this.blobs = parts.blobs;
  }

  /** Nothing is stored any more. */
  close(): void {
    this.ingest.close();
  }
}

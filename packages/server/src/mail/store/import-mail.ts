import type { Readable } from 'node:stream';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { MailStore } from '../mail-store.ts';
import type { IncomingMail, IngestBy, Ingested, MailAccount, MailboxPlace } from './incoming-mail.ts';

/** What became of the messages of an import. */
export interface ImportReport {
  readonly stored: number;
  readonly duplicates: number;
  /** Stored with what could be read of them. */
  readonly unparsable: number;
  readonly failed: number;
  /** Those that were not stored as they should be, the first of them. */
  readonly problems: readonly { readonly message: number; readonly outcome: string; readonly reason: string | null }[];
}

const mostProblems = 100;
/** Messages of a transaction, and bytes of them that are held at once. */
const batchMessages = 50;
const batchBytes = 16 * 1024 * 1024;

/** Stores the messages of an upload as they come; what is stored stays, whatever comes after it. */
export async function importMail(
  mail: MailStore,
  account: MailAccount,
  mailbox: MailboxPlace,
  upload: { readonly type: string; readonly bytes: Readable },
  by: IngestBy,
): Promise<ImportReport> {
  const report = new Report();
  let batch: IncomingMail[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (batch.length > 0) report.add(await mail.ingest.store(account, batch, by));
    [batch, bytes] = [[], 0];
  };
  for await (const each of messagesOf(upload)) {
    batch.push({ mailbox, labels: [], ...each });
    bytes += each.raw.length;
    if (batch.length >= batchMessages || bytes >= batchBytes) await flush();
  }
  await flush();
  return report.shown;
}

type Read = Pick<IncomingMail, 'raw' | 'receivedAt' | 'flags'>;

async function* messagesOf({ bytes }: { readonly type: string; readonly bytes: Readable }): AsyncGenerator<Read> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of bytes as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size <= mailLimits.rawBytes + 1) pieces.push(piece);
  }
  const flags = { read: false, starred: false, answered: false, draft: false };
  yield { raw: Buffer.concat(pieces), receivedAt: null, flags };
}

class Report {
  readonly #counts = { stored: 0, duplicate: 0, unparsable: 0, failed: 0 };
  readonly #problems: { message: number; outcome: string; reason: string | null }[] = [];
  #messages = 0;

  add(results: readonly Ingested[]): void {
    for (const { outcome, reason } of results) {
      this.#messages += 1;
      this.#counts[outcome] += 1;
      if (reason !== null && this.#problems.length < mostProblems)
        this.#problems.push({ message: this.#messages, outcome, reason });
    }
  }

  get shown(): ImportReport {
    const { stored, duplicate, unparsable, failed } = this.#counts;
    return { stored, duplicates: duplicate, unparsable, failed, problems: this.#problems };
  }
}

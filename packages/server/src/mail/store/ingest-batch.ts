/** The messages of one batch, from their state before the transaction to their results. */
import type { IncomingMail, IngestResult } from './incoming-mail.ts';
import type { IdentifiedMail } from './ingest-source.ts';
import type { ParsedIncomingMail } from './new-email.ts';

/** One message of a batch. */
export interface BatchEntry {
  readonly incoming: IncomingMail;
  readonly identity: string;
  /** Null where the account has the message already, and where it was refused. */
  readonly parsed: ParsedIncomingMail | null;
  /** Why the message was refused; null: it was not. */
  readonly refusal: string | null;
}

/** The messages of a batch that are other copies of stored e-mails. @param stored the copies that were stored as e-mails just now. */
export function selectKnown(
  batch: readonly BatchEntry[],
  ids: ReadonlyMap<string, number>,
  stored: ReadonlySet<IncomingMail>,
): (IdentifiedMail & { readonly emailId: number })[] {
  return batch.flatMap(({ incoming, identity }) => {
    const emailId = ids.get(identity);
    return emailId === undefined || stored.has(incoming) ? [] : [{ incoming, identity, emailId }];
  });
}

/** What became of one message of a batch. */
export interface EntryResult {
  readonly id: number | null;
  readonly duplicate: boolean;
}

/** The result as callers get it. */
export function toIngestResult({ id, duplicate }: EntryResult, { parsed, refusal }: BatchEntry): IngestResult {
  if (refusal !== null) return { outcome: 'failed', emailId: null, reason: refusal };
  if (duplicate) return { outcome: 'duplicate', emailId: id, reason: null };
  if (parsed?.mail.bodyState === 'unparsable') return { outcome: 'unparsable', emailId: id, reason: parsed.mail.text };
  return { outcome: 'stored', emailId: id, reason: null };
}

/** The bytes that are stored with a message: all of it, and its files. */
export function collectBlobs({ incoming, mail }: ParsedIncomingMail): { sha256: string; bytes: Uint8Array }[] {
  return [{ sha256: mail.sha256, bytes: incoming.raw }, ...mail.attachments];
}

import type { Readable } from 'node:stream';
import { openUnlinkedFile, readFromStart } from '../../base/unlinked-file.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { describeAmbiguousSeparators, type FileMessage } from '../files/mail-file.ts';
import { readMbox } from '../files/mbox-reader.ts';
import type { MailStore } from '../mail-store.ts';
import { MailTooLarge } from '../parse/parse-pool.ts';
import { toSharedBytes } from '../parse/shared-bytes.ts';
import type { IncomingMail, IngestActor, IngestResult, MailAccount, MailboxRef, MailFlags } from './incoming-mail.ts';

/** An upload of messages. */
export interface MailUpload {
  /** `message/rfc822` or `application/mbox`. */
  readonly type: string;
  /** The mbox dialect, such as `mboxrd`, where the client names it. */
  readonly format: string | null;
  readonly bytes: Readable;
}

/** Where the messages of an upload are stored, and what the request says about all of them. */
export interface ImportTarget {
  readonly account: MailAccount;
  /** The mailbox that the request names; null: the mailbox that a message's headers name, or the inbox. */
  readonly mailbox: MailboxRef | null;
  /** Finds a mailbox by its path, or creates it. */
  readonly mailboxAt: (path: string) => Promise<MailboxRef>;
  /** Flags that replace those in the headers of the messages; null: the headers count. */
  readonly flags: MailFlags | null;
  /** The time of receipt for messages whose file gives none, ISO 8601; null: none. */
  readonly receivedAt: string | null;
}

/** What an import did with the messages. */
export interface ImportReport {
  readonly stored: number;
  readonly duplicates: number;
  /** Stored although they could not be parsed completely. */
  readonly unparsable: number;
  readonly failed: number;
  /** Left out, because the mail program that wrote the file had deleted them. */
  readonly skipped: number;
  /** The keys of the first e-mails that were created. */
  readonly ids: readonly number[];
  /** The first problems: messages that failed or could not be parsed. */
  readonly problems: readonly { readonly message: number; readonly outcome: string; readonly reason: string | null }[];
}

const maxProblems = 100;
const maxIds = 1000;
/** Messages of one transaction, and bytes of messages in memory at once. */
const batchMessages = 50;
const batchBytes = 16 * 1024 * 1024;
/** One batch is written while the next one is parsed. */
const maxBatchesInFlight = 2;

/** Stores the messages of an upload in order. A later failure does not undo what is stored. */
export async function importMail(
  mail: MailStore,
  target: ImportTarget,
  upload: MailUpload,
  ingestActor: IngestActor,
): Promise<ImportReport> {
  const report = new ImportReportBuilder();
  const inFlight: Promise<readonly IngestResult[]>[] = [];
  const mailboxes = new MailboxResolver(target);
  let batch: IncomingMail[] = [];
  let bytes = 0;
  const begin = async (work: Promise<readonly IngestResult[]>): Promise<void> => {
    work.catch(() => {}); // the failure is thrown when this batch is awaited
    inFlight.push(work);
    if (inFlight.length >= maxBatchesInFlight) report.add(await inFlight.shift()!);
  };
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await begin(mail.ingest.store(target.account, batch, ingestActor));
    [batch, bytes] = [[], 0];
  };
  for await (const each of readMessages(upload)) {
    report.addMessage(each);
    if (each.expunged) continue;
    if (each.tooLong !== undefined) {
      await flush();
      const reason = new MailTooLarge(each.tooLong).message;
      await begin(Promise.resolve([{ outcome: 'failed', emailId: null, reason }]));
      continue;
    }
    batch.push(toIncomingMail(each, await mailboxes.resolve(each), target));
    bytes += each.raw.length;
    if (batch.length >= batchMessages || bytes >= batchBytes) await flush();
  }
  await flush();
  for (const each of inFlight) report.add(await each);
  return report.result;
}

/** The mailboxes of an upload. Each is looked up once. */
class MailboxResolver {
  readonly #target: ImportTarget;
  readonly #found = new Map<string, Promise<MailboxRef>>();

  constructor(target: ImportTarget) {
    this.#target = target;
  }

  /** Messages that are marked as deleted are stored in the trash. */
  resolve({ flags, mailbox }: FileMessage): Promise<MailboxRef> | MailboxRef {
    const { mailbox: fixedMailbox, flags: known, mailboxAt: findOrCreateMailbox } = this.#target;
    const path = known === null && flags?.includes('deleted') ? 'Trash' : null;
    if (path === null && fixedMailbox) return fixedMailbox;
    const mailboxPath = path ?? mailbox ?? 'INBOX';
    const found = this.#found.get(mailboxPath) ?? findOrCreateMailbox(mailboxPath);
    this.#found.set(mailboxPath, found);
    return found;
  }
}

async function* readMessages({ type, format, bytes }: MailUpload): AsyncGenerator<FileMessage> {
  if (type !== 'application/mbox') return yield readWholeMessage(bytes);
  const file = await openUnlinkedFile();
  try {
    await file.writeFile(limitSize(bytes));
    yield* readMbox(readFromStart(file), format === 'mboxrd' ? 'mboxrd' : 'unknown');
  } finally {
    await file.close();
  }
}

/** Receives the whole upload into a temporary file before anything is stored: an aborted upload stores nothing. */
async function* limitSize(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > mailLimits.uploadBytes)
      throw new ApiError('BODY_TOO_LARGE', 'An upload has at most 4 GiB; send the file in pieces.');
    yield piece;
  }
}

function toIncomingMail(
  { raw, receivedAt, flags = [], labels }: FileMessage,
  mailbox: MailboxRef,
  target: ImportTarget,
): IncomingMail {
  return {
    raw,
    mailbox,
    receivedAt: receivedAt ?? target.receivedAt,
    flags: target.flags ?? {
      read: flags.includes('seen'),
      starred: flags.includes('flagged'),
      answered: flags.includes('answered'),
      draft: flags.includes('draft'),
    },
    ...(labels && { labels }),
  };
}

async function readWholeMessage(bytes: Readable): Promise<FileMessage> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of bytes as AsyncIterable<Buffer>) {
    // An upload that is too long is read to its end, so that the refusal arrives, but it is not stored.
    if (size <= mailLimits.rawBytes) pieces.push(piece);
    size += piece.length;
  }
  if (size === 0) throw new ApiError('BODY_INVALID', 'The upload is empty; send the bytes of a message.');
  return { raw: await toSharedBytes(pieces), ...(size > mailLimits.rawBytes && { tooLong: size }) };
}

class ImportReportBuilder {
  readonly #counts = { stored: 0, duplicate: 0, unparsable: 0, failed: 0, skipped: 0 };
  readonly #problems: { message: number; outcome: string; reason: string | null }[] = [];
  readonly #ids: number[] = [];
  /** Numbers of the messages in the current batch, in order. */
  readonly #numbers: number[] = [];
  #messages = 0;

  /** Counts a message that was read from the upload. */
  addMessage({ expunged, doubts }: FileMessage): void {
    this.#messages += 1;
    if (expunged) this.#counts.skipped += 1;
    else this.#numbers.push(this.#messages);
    if (doubts) this.#problem(this.#messages, 'uncertain', describeAmbiguousSeparators(doubts));
  }

  add(results: readonly IngestResult[]): void {
    for (const { outcome, emailId, reason } of results) {
      const message = this.#numbers.shift()!;
      this.#counts[outcome] += 1;
      const isNew = outcome === 'stored' || outcome === 'unparsable';
      if (isNew && emailId !== null && this.#ids.length < maxIds) this.#ids.push(emailId);
      if (reason !== null) this.#problem(message, outcome, reason);
    }
  }

  #problem(message: number, outcome: string, reason: string): void {
    if (this.#problems.length < maxProblems) this.#problems.push({ message, outcome, reason });
  }

  get result(): ImportReport {
    const { stored, duplicate, unparsable, failed, skipped } = this.#counts;
    return { stored, duplicates: duplicate, unparsable, failed, skipped, ids: this.#ids, problems: this.#problems };
  }
}

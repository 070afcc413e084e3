import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../../protocol/api-error.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { FileMessage } from '../files/mail-file.ts';
import { readMbox } from '../files/mbox-reader.ts';
import type { MailStore } from '../mail-store.ts';
import { MailTooLarge } from '../parse/parse-pool.ts';
import type { IncomingMail, IngestBy, Ingested, MailAccount, MailboxPlace } from './incoming-mail.ts';

/** Messages as they are uploaded. */
export interface Upload {
  /** `message/rfc822` or `application/mbox`. */
  readonly type: string;
  readonly bytes: Readable;
}

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
/** While one is written the next one is parsed. */
const batchesUnderWay = 2;

/** Stores the messages of an upload as they come; what is stored stays, whatever comes after it. */
export async function importMail(
  mail: MailStore,
  account: MailAccount,
  mailbox: MailboxPlace,
  upload: Upload,
  by: IngestBy,
): Promise<ImportReport> {
  const report = new Report();
  const underWay: Promise<readonly Ingested[]>[] = [];
  let batch: IncomingMail[] = [];
  let bytes = 0;
  const begin = async (work: Promise<readonly Ingested[]>): Promise<void> => {
    work.catch(() => {}); // told when its turn comes
    underWay.push(work);
    if (underWay.length >= batchesUnderWay) report.add(await underWay.shift()!);
  };
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await begin(mail.ingest.store(account, batch, by));
    [batch, bytes] = [[], 0];
  };
  for await (const each of messagesOf(upload)) {
    if (each.tooLong !== undefined) {
      await flush();
      const reason = new MailTooLarge(each.tooLong).message;
      await begin(Promise.resolve([{ outcome: 'failed', emailId: null, reason }]));
      continue;
    }
    batch.push(incomingOf(each, mailbox));
    bytes += each.raw.length;
    if (batch.length >= batchMessages || bytes >= batchBytes) await flush();
  }
  await flush();
  for (const each of underWay) report.add(await each);
  return report.shown;
}

async function* messagesOf({ type, bytes }: Upload): AsyncGenerator<FileMessage> {
  if (type !== 'application/mbox') return yield whole(bytes);
  const file = await namelessFile();
  try {
    await pipeline(bytes, bounded, file.createWriteStream({ autoClose: false }));
    yield* readMbox(file.createReadStream({ start: 0, autoClose: false }));
  } finally {
    await file.close();
  }
}

/** A file that is gone as soon as it is closed, also by the end of the process: no mail of anybody stays in a temporary folder. */
async function namelessFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'tablinum-import-'));
  try {
    return await open(join(folder, 'mbox'), 'wx+', 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Received whole before anything of it is stored: an upload that breaks off leaves nothing, and may be as long as the disk allows. */
async function* bounded(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > mailLimits.uploadBytes)
      throw new ApiError('BODY_TOO_LARGE', 'An upload has at most 4 GiB; send the file in pieces.');
    yield piece;
  }
}

function incomingOf({ raw, receivedAt, flags = [] }: FileMessage, mailbox: MailboxPlace): IncomingMail {
  return {
    raw,
    mailbox,
    receivedAt: receivedAt ?? null,
    flags: {
      read: flags.includes('seen'),
      starred: flags.includes('flagged'),
      answered: flags.includes('answered'),
      draft: flags.includes('draft'),
    },
  };
}

async function whole(bytes: Readable): Promise<FileMessage> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of bytes as AsyncIterable<Buffer>) {
    // What is too long is read to its end, so that the refusal arrives, and not kept.
    if (size <= mailLimits.rawBytes) pieces.push(piece);
    size += piece.length;
  }
  if (size === 0) throw new ApiError('BODY_INVALID', 'The upload is empty; send the bytes of a message.');
  return { raw: Buffer.concat(pieces), ...(size > mailLimits.rawBytes && { tooLong: size }) };
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

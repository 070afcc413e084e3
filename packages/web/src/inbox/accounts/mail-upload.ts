/**
 * Brings a file of messages in, piece by piece, since one request has a minute: the server stores each piece and says what
 * became of it. An import may be repeated, so a piece that got lost is sent again.
 */
import { type Client, Failure } from '@tablinum/client';

/** What became of the messages of a file. */
export interface ImportReport {
  readonly stored: number;
  readonly duplicates: number;
  readonly unparsable: number;
  readonly failed: number;
  /** Deleted in the program that wrote the file. */
  readonly skipped: number;
  /** Messages by their number in the file, from 1. */
  readonly problems: readonly { readonly message: number; readonly outcome: string; readonly reason: string | null }[];
}

interface MailUpload {
  readonly account: number;
  /** Path or role; made where there is none. */
  readonly mailbox: string;
  readonly file: Blob;
  /** Told after each piece: bytes that are in, and what became of them. */
  readonly onProgress: (bytes: number, report: ImportReport) => void;
  readonly signal: AbortSignal;
}

/** Bytes of a piece; one message is never parted. */
const chunkBytes = 2 * 1024 * 1024;
const emptyReport: ImportReport = { stored: 0, duplicates: 0, unparsable: 0, failed: 0, skipped: 0, problems: [] };
/** Of what cannot be read, so many are told. */
const maxProblems = 100;
/** Seconds before a piece that got lost, or was not taken yet, is sent again. */
const retryDelays = [1, 4, 15];
const maxRetryDelay = 60;

/** @throws Failure where a piece is refused; what came before it stays. */
export async function importMail(client: Client, upload: MailUpload): Promise<ImportReport> {
  const { account, mailbox, file, onProgress, signal } = upload;
  const isMbox = (await file.slice(0, 5).text()) === 'From ';
  const type = isMbox ? 'application/mbox' : 'message/rfc822';
  let report = emptyReport;
  let sentBytes = 0;
  for await (const chunk of isMbox ? splitMbox(file) : [file]) {
    const requestOptions = {
      method: 'POST',
      query: { account, mailbox },
      body: new Blob([chunk], { type }),
      signal,
    } as const;
    report = mergeReports(
      report,
      await sendWithRetry(() => client.call<ImportReport>('emails:import', requestOptions), signal),
    );
    sentBytes += chunk.size;
    onProgress(sentBytes, report);
  }
  return report;
}

async function sendWithRetry(send: () => Promise<{ data: ImportReport }>, signal: AbortSignal): Promise<ImportReport> {
  for (const seconds of retryDelays) {
    try {
      return (await send()).data;
    } catch (error) {
      const isTransient = error instanceof Failure && (error.outcomeUnknown || error.retryAfter !== null);
      const wait = isTransient ? Math.max(seconds, error.retryAfter ?? 0) : Number.POSITIVE_INFINITY;
      if (wait > maxRetryDelay) throw error;
      await sleep(wait * 1000, signal);
    }
  }
  return (await send()).data;
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

function mergeReports(one: ImportReport, next: ImportReport): ImportReport {
  const before = one.stored + one.duplicates + one.unparsable + one.failed + one.skipped;
  const problems = next.problems.map((each) => ({ ...each, message: each.message + before }));
  return {
    stored: one.stored + next.stored,
    duplicates: one.duplicates + next.duplicates,
    unparsable: one.unparsable + next.unparsable,
    failed: one.failed + next.failed,
    skipped: one.skipped + next.skipped,
    problems: [...one.problems, ...problems].slice(0, maxProblems),
  };
}

/** An mbox in pieces that begin and end with messages. */
export async function* splitMbox(file: Blob, size = chunkBytes): AsyncGenerator<Blob> {
  let from = 0;
  while (from < file.size) {
    let to = Math.min(from + size, file.size);
    while (to < file.size) {
      const end = findLastMessage(await decodeBytes(file.slice(from, to)));
      if (end > 0) {
        to = from + end;
        break;
      }
      to = Math.min(to + size, file.size);
    }
    yield file.slice(from, to);
    from = to;
  }
}

/** A character for each byte. */
async function decodeBytes(bytes: Blob): Promise<string> {
  return new TextDecoder('windows-1252').decode(await bytes.arrayBuffer());
}

/**
 * Where the last message begins; 0 where none does. A line after an empty one that begins with `From ` and has a date, or one with nothing, a
 * dash or an address behind it (Thunderbird, Takeout) that a header follows.
 */
function findLastMessage(text: string): number {
  for (let index = text.lastIndexOf('\nFrom '); index > 0; index = text.lastIndexOf('\nFrom ', index - 1)) {
    const end = text.indexOf('\n', index + 1);
    const line = text.slice(index + 6, end).trim();
    const afterEmpty = text[index - 1] === '\n' || text.slice(index - 2, index) === '\n\r';
    const isDated = /\d{2}:\d{2}/.test(line) && /\d{4}/.test(line);
    const isBare = /^(?:-?|[^\s@]+@\S*)$/.test(line) && /^[!-9;-~]{1,200}[ \t]*:/.test(text.slice(end + 1, end + 300));
    if (end > 0 && afterEmpty && (isDated || isBare)) return index + 1;
  }
  return 0;
}

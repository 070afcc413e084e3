/**
 * Uploads a file of messages in parts, because a request is limited to one minute. The server stores each part and
 * returns the result. Imports are idempotent, so a lost part is sent again.
 */
import { type Client, Failure } from '@tablinum/client';

/** The result of an import. */
export interface ImportReport {
  readonly stored: number;
  readonly duplicates: number;
  readonly unparsable: number;
  readonly failed: number;
  /** Messages that were marked as deleted in the file. */
  readonly skipped: number;
  /** Problems by the number of the message in the file, from 1. */
  readonly problems: readonly { readonly message: number; readonly outcome: string; readonly reason: string | null }[];
}

interface MailUpload {
  readonly account: number;
  /** The path or role of the target folder, which is created if it does not exist. */
  readonly mailbox: string;
  readonly file: Blob;
  /** Called after each part with the number of imported bytes and the result so far. */
  readonly onProgress: (bytes: number, report: ImportReport) => void;
  readonly signal: AbortSignal;
}

/** Bytes of a part. A message is never split. */
const chunkBytes = 2 * 1024 * 1024;
const emptyReport: ImportReport = { stored: 0, duplicates: 0, unparsable: 0, failed: 0, skipped: 0, problems: [] };
/** Maximum number of reported problems. */
const maxProblems = 100;
/** Seconds before a lost or refused part is sent again. */
const retryDelays = [1, 4, 15];
const maxRetryDelay = 60;

/** @throws Failure if a part is refused. The parts before it stay imported. */
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

/** Splits an mbox file into parts at message boundaries. */
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

/** Decodes one character for each byte. */
async function decodeBytes(bytes: Blob): Promise<string> {
  return new TextDecoder('windows-1252').decode(await bytes.arrayBuffer());
}

/**
 * The start of the last message; 0 if there is none. A message starts with a line after an empty one that begins with
 * `From ` and contains a date, or with `From `, nothing, a dash or an address (Thunderbird, Takeout), followed by a
 * header.
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

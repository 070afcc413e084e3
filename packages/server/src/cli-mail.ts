/**
 * `tablinum mail rethread`: rebuilds the conversations of an account. `tablinum mail import`: imports an mbox file, a
 * message, or a folder with any of the forms of {@link readMailSource} into an account of a running server, over HTTP
 * only. The import can be repeated: messages that the account already has are counted as duplicates.
 */
import { parseArgs } from 'node:util';
import { UsageError } from './cli-commands.ts';
import { describeAmbiguousSeparators, type FileMessage } from './mail/files/mail-file.ts';
import { readMailSource } from './mail/files/mail-source.ts';
import { isExactInMbox, writeExactMbox } from './mail/files/mbox-writer.ts';
import { mailLimits } from './protocol/mail-limits.ts';

const usage = `Use: tablinum mail import <file or folder> --account <id or address> [--mailbox <path>] [--app <name>] [--url <address>] [--json]
     tablinum mail rethread --account <id or address> [--app <name>] [--url <address>] [--json]
What is imported: mbox files (Thunderbird, Gmail Takeout, Apple Mail and others), .eml and .emlx files, Maildirs, and folders of these.
With --json, the report is printed to the standard output as JSON, and messages to the standard error.
The credential is TABLINUM_TOKEN; the address is --url or TABLINUM_URL (http://127.0.0.1:4180).`;
const maxBatchMessages = 200;
const maxBatchBytes = 8 * 1024 * 1024;
/** Limit of the bytes of all batches that are not full. */
const maxPendingBytes = 4 * maxBatchBytes;
const maxAttempts = 6;
/** The maximum number of problems in a JSON report. All problems are also printed as messages. */
const maxReportedProblems = 10_000;

interface ImportTarget {
  readonly url: string;
  readonly token: string;
  readonly app: string;
  readonly account: string;
  readonly mailbox: string | undefined;
  readonly json: boolean;
}

interface ImportReport {
  readonly stored: number;
  readonly duplicates: number;
  readonly unparsable: number;
  readonly failed: number;
  readonly skipped: number;
  readonly problems: readonly { readonly message: number; readonly outcome: string; readonly reason: string | null }[];
}

/** Runs `tablinum mail`. @returns the exit status, which is 1 if a message could not be stored. */
export async function runMailCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      account: { type: 'string' },
      mailbox: { type: 'string' },
      app: { type: 'string', default: 'main' },
      json: { type: 'boolean', default: false },
      url: { type: 'string', default: process.env['TABLINUM_URL'] ?? 'http://127.0.0.1:4180' },
    },
  });
  const [command, path, ...extraArgs] = positionals;
  const token = process.env['TABLINUM_TOKEN'];
  if (!values.account || !token || extraArgs.length > 0) throw new UsageError(usage);
  const { url, app, account, mailbox, json } = values;
  const target: ImportTarget = { url, token, app, account, mailbox, json };
  if (command === 'rethread' && path === undefined) return rethread(target);
  if (command !== 'import' || path === undefined) throw new UsageError(usage);
  return importMail(path, target);
}

async function rethread(target: ImportTarget): Promise<number> {
  const query = new URLSearchParams({ filterByTk: target.account });
  const response = await fetch(`${target.url}/api/accounts:rethread?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.token}`, 'x-app': target.app },
  });
  const reply = (await response.json()) as {
    data?: { readonly conversations: number; readonly changed: number };
    message?: string;
  };
  if (!reply.data) throw new Error(`The server refused the request: ${reply.message}`);
  const { conversations, changed } = reply.data;
  console.log(
    target.json
      ? JSON.stringify({ conversations, changed }, null, 2)
      : `${conversations} conversations, ${changed} changed`,
  );
  return 0;
}

async function importMail(path: string, target: ImportTarget): Promise<number> {
  const summary = new ImportSummary(target.json);
  let hasDeleted = false;
  // Messages that are marked as deleted come last: a moved message is both in its old folder, marked as deleted, and in
  // its new folder.
  for (const deleted of [false, true]) {
    if (deleted && !hasDeleted) break;
    const collector = new BatchCollector();
    for await (const message of readMailSource(path)) {
      const isDeleted = message.flags?.includes('deleted') === true;
      hasDeleted ||= isDeleted;
      if (isDeleted !== deleted) continue;
      if (message.doubts) summary.print(`${message.origin}: ${describeAmbiguousSeparators(message.doubts)}`);
      if (message.expunged || message.raw.length === 0) summary.countUnsent('skipped');
      else if (message.tooLong !== undefined) {
        const reason = `The message has ${message.tooLong} bytes; the maximum is ${mailLimits.rawBytes}.`;
        summary.addProblem({ origin: message.origin ?? null, outcome: 'failed', reason });
        summary.countUnsent('failed');
      } else
        for (const batch of collector.add(message, target.mailbox)) summary.add(batch, await sendBatch(target, batch));
    }
    for (const batch of collector.drain()) summary.add(batch, await sendBatch(target, batch));
  }
  if (summary.messages > 0) return summary.finish();
  if (target.json) summary.finish();
  console.error(`Nothing was imported: no mail was found in ${path}.\n${usage}`);
  return 1;
}

/** A message that was not stored, or not completely. */
interface ImportProblem {
  /** The file, and the position of the message in it; null: not known. */
  readonly origin: string | null;
  readonly outcome: string;
  readonly reason: string | null;
}

/** Counts the outcomes of all messages. */
class ImportSummary {
  readonly counts = { stored: 0, duplicates: 0, unparsable: 0, failed: 0, skipped: 0 };
  messages = 0;
  readonly #json: boolean;
  readonly #problems: ImportProblem[] = [];
  #printed = '';

  /** @param json whether only the JSON report is printed to the standard output. */
  constructor(json: boolean) {
    this.#json = json;
  }

  /** Prints a message for people. */
  print(text: string): void {
    if (this.#json) console.error(text);
    else console.log(text);
  }

  addProblem(problem: ImportProblem): void {
    if (this.#problems.length < maxReportedProblems) this.#problems.push(problem);
    this.print(`${problem.origin}: ${problem.outcome}: ${problem.reason}`);
  }

  /** Counts a message that is not sent. */
  countUnsent(as: 'skipped' | 'failed'): void {
    this.messages += 1;
    this.counts[as] += 1;
  }

  add({ messages }: MessageBatch, report: ImportReport): void {
    this.messages += messages.length;
    for (const name of Object.keys(this.counts) as (keyof typeof this.counts)[]) this.counts[name] += report[name];
    for (const { message, outcome, reason } of report.problems)
      this.addProblem({ origin: messages[message - 1]?.origin ?? null, outcome, reason });
    this.#print();
  }

  /** @returns the exit status. */
  finish(): number {
    this.#print();
    if (this.#json)
      console.log(JSON.stringify({ messages: this.messages, ...this.counts, problems: this.#problems }, null, 2));
    return this.counts.failed > 0 ? 1 : 0;
  }

  #print(): void {
    const counts = Object.entries(this.counts).map(([name, count]) => `${count} ${name}`);
    const line = `${this.messages} messages: ${counts.join(', ')}`;
    if (line !== this.#printed) this.print(line);
    this.#printed = line;
  }
}

/** The messages of one request. */
interface MessageBatch {
  readonly mailbox: string;
  /**
   * The parameter `flags` of emails:import, if the flags are known from outside the messages, such as a file name;
   * null: emails:import reads them from the headers.
   */
  readonly flags: string | null;
  readonly messages: FileMessage[];
  bytes: number;
}

/** Collects messages with the same mailbox and flags. */
class BatchCollector {
  readonly #open = new Map<string, MessageBatch>();

  /** @returns the batches that are full. */
  add(message: FileMessage, requestedMailbox: string | undefined): MessageBatch[] {
    const isDeleted = message.flags?.includes('deleted') === true;
    const mailbox = isDeleted ? 'Trash' : (requestedMailbox ?? message.mailbox ?? 'INBOX');
    const flags = message.flags ? formatFlags(message.flags) : null;
    if (!isExactInMbox(message.raw)) return [{ mailbox, flags, messages: [message], bytes: message.raw.length }];
    const key = JSON.stringify([mailbox, flags]);
    const batch = this.#open.get(key) ?? { mailbox, flags, messages: [], bytes: 0 };
    this.#open.set(key, batch);
    batch.messages.push(message);
    batch.bytes += message.raw.length;
    if (batch.messages.length >= maxBatchMessages || batch.bytes >= maxBatchBytes) {
      this.#open.delete(key);
      return [batch];
    }
    const pendingBytes = [...this.#open.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return pendingBytes > maxPendingBytes ? this.drain() : [];
  }

  /** @returns the remaining batches. */
  drain(): MessageBatch[] {
    const batches = [...this.#open.values()];
    this.#open.clear();
    return batches;
  }
}

function formatFlags(flags: NonNullable<FileMessage['flags']>): string {
  const names = [
    flags.includes('seen') && 'read',
    flags.includes('flagged') && 'starred',
    flags.includes('answered') && 'answered',
    flags.includes('draft') && 'draft',
  ];
  return names.filter(Boolean).join();
}

/** Sends messages unchanged: as an mbox, or a single one if mbox would change its bytes. */
async function sendBatch(target: ImportTarget, { mailbox, flags, messages }: MessageBatch): Promise<ImportReport> {
  const [first] = messages;
  if (!first) throw new Error('A batch has at least one message.');
  const isMbox = messages.length > 1 || isExactInMbox(first.raw);
  const query = new URLSearchParams({ account: target.account, mailbox });
  if (flags !== null) query.set('flags', flags);
  if (!isMbox && first.receivedAt) query.set('receivedAt', first.receivedAt);
  const type = isMbox ? 'application/mbox; format=mboxrd' : 'message/rfc822';
  const body = isMbox ? Buffer.concat([...writeExactMbox(messages)]) : Buffer.from(first.raw);
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${target.url}/api/emails:import?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.token}`, 'x-app': target.app, 'content-type': type },
      body,
    });
    const reply = (await response.json()) as { data?: ImportReport; message?: string };
    if (reply.data) return reply.data;
    const wait = Number(response.headers.get('retry-after') ?? 0);
    if (wait === 0 || attempt === maxAttempts) throw new Error(refusalMessage(response.status, reply.message, target));
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

function refusalMessage(status: number, message: string | undefined, { account, url }: ImportTarget): string {
  const text = `The server refused the request: ${message}`;
  if (status !== 403 || !account.includes('@')) return text;
  return `${text}
To create the account ${account}: in the web interface under Inbox, Mail accounts; or
  curl ${url}/api/accounts:create -H "authorization: Bearer $TABLINUM_TOKEN" -H 'content-type: application/json' -d '{"address":"${account}"}'`;
}

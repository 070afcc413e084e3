/**
 * `tablinum mail rethread`: makes the conversations of an account anew. `tablinum mail import`: brings an mbox, a Maildir, a folder of .eml files or one message into an account of a running server, over HTTP
 * alone. It may be repeated: what the account has already is counted as a duplicate.
 */
import { parseArgs } from 'node:util';
import type { FileMessage } from './mail/files/mail-file.ts';
import { kindOfMailSource, readMailSource } from './mail/files/mail-source.ts';
import { writeMbox } from './mail/files/mbox-writer.ts';

const usage = `Use: tablinum mail import <mbox | maildir | folder | .eml> --account <id or address> [--mailbox <path>] [--app <name>] [--url <address>]
     tablinum mail rethread --account <id or address> [--app <name>] [--url <address>]
The credential is TABLINUM_TOKEN; the address is --url or TABLINUM_URL (http://127.0.0.1:4180).`;
const batchMessages = 200;
const batchBytes = 8 * 1024 * 1024;
const attempts = 6;

interface Target {
  readonly url: string;
  readonly token: string;
  readonly app: string;
  readonly account: string;
  readonly mailbox: string | undefined;
}

interface Report {
  readonly stored: number;
  readonly duplicates: number;
  readonly unparsable: number;
  readonly failed: number;
  readonly problems: readonly { readonly message: number; readonly outcome: string; readonly reason: string | null }[];
}

/** @returns the exit status of the program: 1 where a message could not be stored. */
export async function runMailCommand(words: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      account: { type: 'string' },
      mailbox: { type: 'string' },
      app: { type: 'string', default: 'main' },
      url: { type: 'string', default: process.env['TABLINUM_URL'] ?? 'http://127.0.0.1:4180' },
    },
  });
  const [command, path, ...more] = positionals;
  const token = process.env['TABLINUM_TOKEN'];
  if (!values.account || !token || more.length > 0) throw new Error(usage);
  const target = { url: values.url, token, app: values.app, account: values.account, mailbox: values.mailbox };
  if (command === 'rethread' && path === undefined) return rethread(target);
  if (command !== 'import' || path === undefined) throw new Error(usage);
  return importAll(path, target);
}

async function rethread(target: Target): Promise<number> {
  const query = new URLSearchParams({ filterByTk: target.account });
  const response = await fetch(`${target.url}/api/accounts:rethread?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.token}`, 'x-app': target.app },
  });
  const reply = (await response.json()) as {
    data?: { readonly conversations: number; readonly changed: number };
    message?: string;
  };
  if (!reply.data) throw new Error(`The server refuses: ${reply.message}`);
  console.log(`${reply.data.conversations} conversations, ${reply.data.changed} changed`);
  return 0;
}

async function importAll(path: string, target: Target): Promise<number> {
  const total = { stored: 0, duplicates: 0, unparsable: 0, failed: 0 };
  let before = 0;
  for await (const { mailbox, messages } of batchesOf(dated(path), target.mailbox)) {
    const report = await send(target, mailbox, messages);
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += report[name];
    for (const { message, outcome, reason } of report.problems)
      console.log(`message ${before + message}: ${outcome}: ${reason}`);
    before += messages.length;
    console.log(
      `${before} messages: ${Object.entries(total)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
    );
  }
  return total.failed > 0 ? 1 : 0;
}

/** What a file of one message says of its time is when somebody copied it: then the message's own Date counts. */
async function* dated(path: string): AsyncGenerator<FileMessage> {
  const kind = await kindOfMailSource(path);
  for await (const message of readMailSource(path)) {
    const { receivedAt: _, ...rest } = message;
    yield kind === 'mbox' || kind === 'maildir' ? message : rest;
  }
}

interface Batch {
  readonly mailbox: string;
  readonly messages: readonly FileMessage[];
}

/** Messages of one mailbox that follow each other. */
async function* batchesOf(source: AsyncIterable<FileMessage>, named: string | undefined): AsyncGenerator<Batch> {
  let messages: FileMessage[] = [];
  let bytes = 0;
  let mailbox = '';
  for await (const each of source) {
    const place = named ?? each.mailbox ?? 'INBOX';
    if (messages.length > 0 && (place !== mailbox || messages.length === batchMessages || bytes > batchBytes)) {
      yield { mailbox, messages };
      [messages, bytes] = [[], 0];
    }
    mailbox = place;
    messages.push(each);
    bytes += each.raw.length;
  }
  if (messages.length > 0) yield { mailbox, messages };
}

async function send(target: Target, mailbox: string, messages: readonly FileMessage[]): Promise<Report> {
  const pieces: Uint8Array[] = [];
  for await (const piece of writeMbox(messages)) pieces.push(piece);
  const query = new URLSearchParams({ account: target.account, mailbox });
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${target.url}/api/emails:import?${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.token}`, 'x-app': target.app, 'content-type': 'application/mbox' },
      body: Buffer.concat(pieces),
    });
    const reply = (await response.json()) as { data?: Report; message?: string };
    if (reply.data) return reply.data;
    const wait = Number(response.headers.get('retry-after') ?? 0);
    if (wait === 0 || attempt === attempts) throw new Error(`The server refuses: ${reply.message}`);
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

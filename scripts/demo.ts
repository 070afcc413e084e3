/**
 * A server on a folder of its own, with a small music store and its mail: `npm run demo`. It lives until Ctrl-C, which
 * removes the folder. `PORT` names another port than 4180, `DEMO_MAILS` another number of messages than 400.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../packages/server/src/base/config.ts';
import { generateDemoMail } from '../packages/server/src/mail/demo/demo-mail.ts';
import { writeMbox } from '../packages/server/src/mail/files/mbox-writer.ts';
import { type RunningServer, startServer } from '../packages/server/src/server.ts';
import { storeDefinitions, storeRecords } from './demo-store.ts';

const email = 'demo@larkwell.example';
const password = randomBytes(9).toString('base64url');
const inbox = { name: 'Larkwell Records', address: 'hello@larkwell.example' };

/** Calls to a running server. */
class Caller {
  readonly #url: string;
  #token = '';

  constructor(url: string) {
    this.#url = url;
  }

  async signIn(): Promise<void> {
    this.#token = (await this.call<{ token: string }>('auth:signIn', { email, password })).token;
  }

  call<T = unknown>(path: string, body: unknown): Promise<T> {
    return this.send(path, 'application/json', JSON.stringify(body));
  }

  async send<T>(path: string, type: string, body: string | Uint8Array<ArrayBuffer>): Promise<T> {
    const headers = { 'content-type': type, ...(this.#token && { authorization: `Bearer ${this.#token}` }) };
    const response = await fetch(`${this.#url}/api/${path}`, { method: 'POST', headers, body });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
    return (JSON.parse(text) as { data: T }).data;
  }
}

async function fillStore(caller: Caller): Promise<void> {
  await caller.call('collections:apply', storeDefinitions);
  for (const [collection, records] of storeRecords) await caller.call(`${collection}:create`, records);
}

/** A role that sees the shop's window, and a key for a program that acts as it. */
async function makeKey(caller: Caller): Promise<string> {
  await caller.call('roles:create', { name: 'shopWindow', title: 'Shop window' });
  const seen = { role: 'shopWindow', actions: ['view'] };
  await caller.call('permissions:create', {
    ...seen,
    resource: 'albums',
    filter: { stock: { $gt: 0 } },
    exceptFields: ['stock'],
  });
  await caller.call('permissions:create', { ...seen, resource: 'artists', fields: ['id', 'name'] });
  return (await caller.call<{ token: string }>('apiKeys:create', { name: 'Web shop', role: { name: 'shopWindow' } }))
    .token;
}

async function fillMail(caller: Caller): Promise<void> {
  const { id } = await caller.call<{ id: number }>('accounts:create', inbox);
  const count = Number(process.env['DEMO_MAILS'] ?? 400);
  const messages = generateDemoMail({ seed: 1, count, until: new Date(), inbox });
  for (const [mailbox, list] of Map.groupBy(messages, (each) => each.mailbox ?? 'INBOX')) {
    const pieces: Uint8Array[] = [];
    for await (const piece of writeMbox(list)) pieces.push(piece);
    await caller.send(`emails:import?account=${id}&mailbox=${mailbox}`, 'application/mbox', Buffer.concat(pieces));
  }
  const draft = { account: id, to: 'cora@customers.example', subject: 'Your order is packed', text: 'Dear Cora,\n\n' };
  await caller.call('emails:saveDraft', draft);
}

function sayHello(url: string, key: string): void {
  console.log(`
The demo runs on ${url}; Ctrl-C ends it and removes its data.

  Sign in as     ${email}
  with password  ${password}
  open           ${url}/
  documentation  ${url}/docs
  a key          ${key} (role shopWindow)

Try:
  curl -s ${url}/api/albums:list?appends=artist -H 'authorization: Bearer ${key}'
  token=$(curl -s ${url}/api/auth:signIn -H 'content-type: application/json' -d '{"email":"${email}","password":"${password}"}' | sed 's/.*"token":"\\([^"]*\\).*/\\1/')
  curl -s "${url}/api/emails?unread=true&pageSize=3" -H "authorization: Bearer $token"`);
}

const folder = mkdtempSync(join(tmpdir(), 'tablinum-demo-'));
let server: RunningServer | null = null;
let ending = false;

async function end(code: number): Promise<void> {
  if (ending) return;
  ending = true;
  await server?.stop().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end(0));
try {
  const config = readConfig({
    PORT: process.env['PORT'] ?? '4180',
    DATA_DIR: folder,
    APP_KEY: randomBytes(32).toString('base64url'),
    MAIL_SECRET_KEY: randomBytes(32).toString('base64url'),
    INIT_ROOT_EMAIL: email,
    INIT_ROOT_PASSWORD: password,
    LOG_LEVEL: 'warn',
  });
  console.log('Filling a music store and its mailbox …');
  server = await startServer({ config });
  const caller = new Caller(server.url);
  await caller.signIn();
  await fillStore(caller);
  const key = await makeKey(caller);
  await fillMail(caller);
  if (!ending) sayHello(server.url, key);
} catch (error) {
  console.error(`The demo could not start: ${(error as Error).message}`);
  await end(1);
}

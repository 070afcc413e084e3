/** A server in a separate process that synchronises accounts of a Dovecot, for tests that measure or kill it. */
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SyncTimes } from '../../src/mail/sync/sync-services.ts';
import type { Dovecot } from './dovecot.ts';
import type { Store } from './engines.ts';
import type { Json } from './json.ts';
import { ServerProcess } from './server-process.ts';
import { fastTimes, waitFor } from './sync-world.ts';

/** Starts a server that synchronises accounts. */
export function startSyncedProcess(
  store: Store,
  dovecot: Dovecot,
  times: Partial<SyncTimes> = {},
): Promise<ServerProcess> {
  return ServerProcess.start(store, {
    MAIL_SYNC: 'on',
    MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
    MAIL_CA_FILE: dovecot.caFile,
    TEST_SYNC_TIMES: { ...fastTimes, ...times },
  });
}

/** Waits until all accounts are live. */
export function untilAllLive(server: ServerProcess, count: number, milliseconds = 30_000): Promise<void> {
  return waitFor(
    async () => {
      const accounts = ((await server.data('accounts:list?pageSize=200')) ?? []) as Json[];
      return accounts.length === count && accounts.every(({ status }) => status === 'live');
    },
    'all accounts to be live',
    milliseconds,
  );
}

/** Adds raw messages to the inbox of a user, a minute apart. The user must already have received mail. */
export function fillInbox(dovecot: Dovecot, user: string, messages: readonly (string | Buffer)[]): void {
  const { uid, gid } = statSync(dovecot.maildir(user));
  const folder = join(dovecot.maildir(user), 'cur');
  mkdirSync(folder, { recursive: true });
  const begin = Date.UTC(2026, 0, 1) / 1000;
  for (const [index, raw] of messages.entries()) {
    const file = join(folder, `${begin + 60 * index}.M${index}P1.test:2,${index % 2 === 0 ? 'S' : ''}`);
    writeFileSync(file, raw);
    utimesSync(file, begin + 60 * index, begin + 60 * index);
    chownSync(file, uid, gid);
  }
}

/** The raw messages of a folder. */
export function readMessages(folder: string): Buffer[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .sort()
    .map((name) => readFileSync(join(folder, name)));
}

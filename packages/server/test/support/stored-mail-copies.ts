/**
 * Many stored e-mails without the time that parsing them takes: a corpus is parsed once, and its copies have different
 * identities.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BlobStore } from '../../src/base/blob-store.ts';
import { anonymous } from '../../src/identity/authenticator.ts';
import { generateDemoMail } from '../../src/mail/demo/demo-mail.ts';
import { computeMailIdentity } from '../../src/mail/parse/mail-identity.ts';
import { ParsePool } from '../../src/mail/parse/parse-pool.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import type { MailAccount, MailFlags } from '../../src/mail/store/incoming-mail.ts';
import { MailIngest } from '../../src/mail/store/ingest.ts';
import { resolveMailbox } from '../../src/mail/store/resolve-mailbox.ts';
import type { RunningServer } from '../../src/server.ts';

export const discardingBlobStore: BlobStore = {
  put: async () => {},
  receive: async () => ({ sha256: '', size: 0 }),
  get: async () => null,
  open: async () => null,
  findPresent: async () => [],
  findStoredBefore: async () => [],
  remove: async () => {},
  scopes: async () => [],
};

/** The parsed messages of a folder of raw ones; without a folder, generated messages. */
export async function parseCorpus(folder: string | null, most: number): Promise<readonly ParsedMail[]> {
  const raws =
    folder === null
      ? generateDemoMail({ seed: 7, count: most, until: new Date('2026-11-20T00:00:00Z') }).map(({ raw }) => raw)
      : readdirSync(folder)
          .filter((name) => name.endsWith('.eml'))
          .slice(0, most)
          .map((name) => readFileSync(join(folder, name)));
  const pool = new ParsePool({ threads: 2 });
  const parsed = await Promise.all(raws.map((raw) => pool.parse(raw)));
  await pool.close();
  return parsed;
}

/** A parser pool that returns messages that were parsed before. */
export function fakeParser(parsed: (raw: Uint8Array) => ParsedMail): ParsePool {
  return {
    parse: async (raw: Uint8Array) => parsed(raw),
    identify: async (raws: readonly Uint8Array[]) => raws.map(computeMailIdentity),
  } as Pick<ParsePool, 'parse' | 'identify'> as ParsePool;
}

/** The flags of the copy with a number. */
export function makeMailFlags(number: number): MailFlags {
  return { read: number % 50 !== 0, starred: number % 200 === 0, answered: false, draft: false };
}

/**
 * Stores copies of parsed messages in an account, received a minute apart.
 *
 * @returns the number of messages per second.
 */
export async function storeMailCopies(
  server: { readonly running: RunningServer },
  account: MailAccount,
  corpus: readonly ParsedMail[],
  count: number,
  until = Date.UTC(2026, 10, 20),
): Promise<number> {
  const { main } = server.running.applications;
  const { database, changes, clock, logger } = main;
  const copies = new Map<Uint8Array, ParsedMail>();
  const parser = fakeParser((raw) => copies.get(raw)!);
  const wakeChecks = (): void => {};
  const ingest = new MailIngest({ database, changes, clock, logger, parser, blobs: discardingBlobStore, wakeChecks });
  const mailbox = await resolveMailbox(main.recordContext(anonymous, null), account.id, 'INBOX');
  const begun = performance.now();
  for (let start = 0; start < count; start += 100) {
    const batch = Array.from({ length: Math.min(100, count - start) }, (_, index) => {
      const number = start + index;
      const copy = Math.floor(number / corpus.length);
      const raw = Buffer.from(`${account.id} ${number}`);
      copies.set(raw, copyMail(corpus[number % corpus.length]!, copy, `${account.id}-${number}`));
      return {
        raw,
        mailbox,
        receivedAt: new Date(until - (count - number) * 60_000).toISOString(),
        flags: makeMailFlags(number),
      };
    });
    await ingest.store(account, batch, { actor: null, requestId: null });
    copies.clear();
  }
  return count / ((performance.now() - begun) / 1000);
}

/** A copy of a message, in separate threads. */
function copyMail(mail: ParsedMail, copy: number, identity: string): ParsedMail {
  const other = (id: string): string => `${copy}.${id}`;
  return {
    ...mail,
    sha256: identity,
    messageId: mail.messageId && other(mail.messageId),
    inReplyTo: mail.inReplyTo.map(other),
    references: mail.references.map(other),
    attachments: [],
  };
}

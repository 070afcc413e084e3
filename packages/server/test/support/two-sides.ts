/** Accounts whose mail is stored here and on a mail server in memory. */
import { afterAll, beforeAll } from 'vitest';
import { createReader } from '../../src/database/run-statement.ts';
import { sql } from '../../src/database/sql.ts';
import type { Engine } from './engines.ts';
import { FakeMailServer, FakeSync } from './fake-mail-server.ts';
import type { Json } from './json.ts';
import { startMailAccountServer } from './mail-account-server.ts';
import { makeRawMail } from './raw-mail.ts';
import type { TestServer } from './scenario.ts';

/** The settings of an account's mail server. Nothing connects to it. */
export const imapSettings = { host: 'imap.example.com', port: 993, security: 'tls', user: 'shop@example.com' };

/** A raw message with a subject. */
export const mail = (subject: string): string => makeRawMail({ subject, id: `${subject}@example.net` });

/** The server, and the mail server of the account that was connected last. */
export class TwoSides {
  server!: TestServer;
  fake!: FakeMailServer;
  sync!: FakeSync;
  /** Number of accounts that were connected. */
  accounts = 0;

  /** A new account with a mail server. */
  readonly connect = async (given = new FakeMailServer()): Promise<number> => {
    this.accounts += 1;
    const address = `box${this.accounts}@example.com`;
    const body = { address, imap: imapSettings };
    const { id } = await this.server.data('POST /api/accounts:create', { as: 'ann', body });
    this.fake = given;
    this.sync = new FakeSync(this.server.running.applications.main.mail, { id, address }, given);
    return id;
  };

  readonly list = (account: number, more = ''): Promise<Json[]> =>
    this.server.data(`GET /api/emails?accountId=${account}${more}`, { as: 'ann' });

  readonly mailboxesOf = (account: number): Promise<Json[]> =>
    this.server.data(`GET /api/mailboxes?sort=id&filter=${JSON.stringify({ accountId: account })}`, { as: 'ann' });

  readonly find = async (account: number, subject: string): Promise<Json> =>
    (await this.list(account)).find((each) => each.subject === subject);

  /** The queued operations for the mail server. */
  readonly operations = async (account: number): Promise<unknown[][]> => {
    const { database } = this.server.running.applications.main;
    const rows = await createReader(database)(
      sql`SELECT kind,uid,flags FROM "mailOperations" WHERE "accountId"=${account} ORDER BY id`,
    );
    return rows.map(([kind, uid, flags]) => [kind, uid === null ? null : Number(uid), flags]);
  };

  /** The placements of the e-mails of an account: each mailbox, and whether the UID is known. */
  readonly placements = async (account: number): Promise<string[]> => {
    const rows = await createReader(this.server.running.applications.main.database)(
      sql`SELECT m.path,p.uid FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" WHERE m."accountId"=${account}`,
    );
    return rows.map(([path, uid]) => `${path} ${uid === null ? 'without UID' : 'with UID'}`).sort();
  };

  readonly move = (id: number, mailbox: string | number | readonly number[]): Promise<Json> =>
    this.server.data('POST /api/emails:move', { as: 'ann', body: { ids: [id], mailbox } });

  readonly update = (id: number, body: object): Promise<Json> =>
    this.server.data(`PATCH /api/emails/${id}`, { as: 'ann', body });
}

/** Starts a server on an engine for the tests of the surrounding `describe`, and stops it afterwards. */
export function useTwoSides(engine: Engine): TwoSides {
  const sides = new TwoSides();
  beforeAll(async () => {
    sides.server = await startMailAccountServer(engine);
  });
  afterAll(() => sides.server.stop());
  return sides;
}

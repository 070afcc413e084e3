/** Statements about the correspondents of accounts: the addresses that they received mail from and wrote to. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';
import { correspondentsVersion, deletingStatus } from './account-status.ts';
import type { AddressLists, MailAddressValue } from './mail-writer.ts';

/** What a message shows about a correspondent. */
export interface MetCorrespondent {
  /** In lower case. */
  readonly address: string;
  /** Its base domain. */
  readonly domain: string;
  /** The message, if it came from the address. */
  readonly emailId: number | null;
  /** Whether the account wrote the message to the address. */
  readonly written: boolean;
}

/** A stored correspondent. */
export interface Correspondent {
  readonly address: string;
  readonly firstEmailId: number | null;
  readonly written: boolean;
}

/** The properties of an e-mail that determine its correspondents. */
export interface CorrespondenceEmail extends AddressLists {
  readonly id: number;
  /** Role or path of its mailbox. */
  readonly folder: string | null;
}

/** The correspondents of one account. */
export class CorrespondentRows extends AccountBoundRows {
  /** @param transaction null: only for reads. */
  constructor(database: Database, transaction: Transaction | null, account: number) {
    super(database, transaction, account);
    transaction?.touch('mailCorrespondents');
  }

  /** Adds the correspondents that messages show. Repeating it changes nothing. @param met each address once. */
  async add(met: readonly MetCorrespondent[]): Promise<void> {
    const { dialect } = this.database;
    const isWritten = dialect.isTrue(sql`excluded.written`);
    const wasWritten = dialect.isTrue(sql`"mailCorrespondents".written`);
    const isOlder = sql`excluded."firstEmailId" IS NOT NULL AND ("mailCorrespondents"."firstEmailId" IS NULL OR excluded."firstEmailId"<"mailCorrespondents"."firstEmailId")`;
    const merge = sql` ON CONFLICT ("accountId",address) DO UPDATE SET "firstEmailId"=CASE WHEN ${isOlder} THEN excluded."firstEmailId" ELSE "mailCorrespondents"."firstEmailId" END,written=CASE WHEN ${isWritten} THEN excluded.written ELSE "mailCorrespondents".written END WHERE (${isOlder}) OR (${isWritten} AND NOT ${wasWritten})`;
    await insertRows(
      this.run,
      dialect,
      'mailCorrespondents',
      [
        ['accountId', 'integer'],
        ['address', 'text'],
        ['domain', 'text'],
        ['firstEmailId', 'bigint'],
        ['written', 'boolean'],
        ['verified', 'boolean'],
      ],
      met.map(({ address, domain, emailId, written }) => [this.account, address, domain, emailId, written, false]),
      merge,
    );
  }

  /** The stored correspondents with some addresses, by address. */
  async find(addresses: readonly string[]): Promise<Map<string, Correspondent>> {
    const rows = await this.run(
      sql`SELECT address,"firstEmailId",written FROM "mailCorrespondents" WHERE ${this.isOfAccount} AND ${this.database.dialect.isIn(sql`address`, listValue('text', addresses))}`,
    );
    return new Map(
      rows.map(([address, first, written]) => [
        address as string,
        {
          address: address as string,
          firstEmailId: first === null ? null : Number(first),
          written: Boolean(written),
        },
      ]),
    );
  }

  /** Base domains that the account has written to, at most `max`. */
  async readWrittenDomains(max: number): Promise<string[]> {
    const rows = await this.run(
      sql`SELECT DISTINCT domain FROM "mailCorrespondents" WHERE ${this.isOfAccount} AND ${this.database.dialect.isTrue(sql`written`)} ORDER BY domain LIMIT ${max}`,
    );
    return rows.map(([domain]) => domain as string);
  }

  /** Which of the base domains have a verified message. */
  async findVerifiedDomains(domains: readonly string[]): Promise<Set<string>> {
    const { dialect } = this.database;
    const rows = await this.run(
      sql`SELECT DISTINCT domain FROM "mailCorrespondents" WHERE ${this.isOfAccount} AND ${dialect.isIn(sql`domain`, listValue('text', domains))} AND ${dialect.isTrue(sql`verified`)}`,
    );
    return new Set(rows.map(([domain]) => domain as string));
  }

  /** Records that messages from addresses were verified. */
  async setVerified(addresses: readonly string[]): Promise<void> {
    if (addresses.length === 0) return;
    const { dialect } = this.database;
    await this.run(
      sql`UPDATE "mailCorrespondents" SET verified=${value('boolean', true)} WHERE ${this.isOfAccount} AND ${dialect.isIn(sql`address`, listValue('text', addresses))} AND NOT ${dialect.isTrue(sql`verified`)}`,
    );
  }
}

/** Accounts whose mail was stored by an earlier server version, which did not record correspondents. */
export async function findAccountsWithoutCorrespondents(database: Database): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM accounts WHERE coalesce("correspondentsVersion",0)<${correspondentsVersion} AND status<>${value('text', deletingStatus)} ORDER BY id`,
  );
  return rows.map(([id]) => Number(id));
}

/** Marks the list of an account's correspondents as complete. */
export async function setCorrespondentsVersion(
  database: Database,
  transaction: Transaction,
  account: number,
): Promise<void> {
  transaction.touch('accounts');
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE accounts SET "correspondentsVersion"=${correspondentsVersion} WHERE id=${value('integer', account)}`);
}

/** E-mails of an account after a key, by key. */
export async function readCorrespondence(
  database: Database,
  account: number,
  after: number,
  max: number,
): Promise<CorrespondenceEmail[]> {
  const rows = await createReader(database)(
    sql`SELECT id,folder,"from","to",cc FROM emails WHERE "accountId"=${value('integer', account)} AND id>${value('bigint', after)} ORDER BY id LIMIT ${max}`,
  );
  return rows.map(([id, folder, ...lists]) => {
    const [from = [], to = [], cc = []] = lists.map(
      (each) => (parseJsonColumn(each) ?? []) as readonly MailAddressValue[],
    );
    return { id: Number(id), folder: folder as string | null, from, to, cc };
  });
}

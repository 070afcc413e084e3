/** Statements about contacts and their groups. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';
import type { MailAddressValue } from './mail-writer.ts';

/** A person whom mail shows as a correspondent of the account. */
export interface MetContact {
  /** In lower case. */
  readonly address: string;
  /** Empty if the mail contains no name. */
  readonly name: string;
  /** The time of the newest message that shows the person, ISO 8601. */
  readonly at: string;
}

/** The keys of contacts that mail has changed. */
export interface FilledContacts {
  readonly created: readonly number[];
  readonly named: readonly number[];
}

/** The contacts of one account. */
export class ContactRows extends AccountBoundRows {
  constructor(database: Database, transaction: Transaction, account: number) {
    super(database, transaction, account);
    for (const table of ['contacts', 'contactRemovals']) transaction.touch(table);
  }

  /**
   * Adds people who are not contacts yet, and gives a name to automatic contacts without one. A contact that was destroyed after the
   * message, and an address that was merged into another contact, are not added again.
   *
   * @param met each address once.
   * @param now ISO 8601.
   */
  async fill(met: readonly MetContact[], now: string): Promise<FilledContacts> {
    if (met.length === 0) return { created: [], named: [] };
    const { dialect } = this.database;
    const isMet = dialect.isIn(
      sql`address`,
      listValue(
        'text',
        met.map(({ address }) => address),
      ),
    );
    const existing = await this.run(
      sql`SELECT address,id,name,CASE WHEN ${dialect.isTrue(sql`automatic`)} THEN 1 ELSE 0 END FROM contacts WHERE ${this.isOfAccount} AND ${isMet}`,
    );
    const removals = await this.run(
      sql`SELECT address,${dialect.scalar('datetime', sql`at`)},"contactId" FROM "contactRemovals" WHERE ${this.isOfAccount} AND ${isMet}`,
    );
    const removedAt = new Map(removals.map(([address, at]) => [address as string, Date.parse(at as string)]));
    const known = new Set(existing.map(([address]) => address as string));
    for (const [address, , contact] of removals) if (contact !== null) known.add(address as string);
    const added = met.filter(
      ({ address, at }) => !known.has(address) && Date.parse(at) > (removedAt.get(address) ?? Number.NEGATIVE_INFINITY),
    );
    const rows = await insertRows(
      this.run,
      dialect,
      'contacts',
      [
        ['accountId', 'integer'],
        ['address', 'text'],
        ['name', 'text'],
        ['automatic', 'boolean'],
        ['createdAt', 'datetime'],
        ['updatedAt', 'datetime'],
      ],
      added.map(({ address, name }) => [this.account, address, name, true, now, now]),
      sql` ON CONFLICT ("accountId",address) DO NOTHING RETURNING id`,
    );
    const names = new Map(met.map(({ address, name }) => [address, name]));
    const nameless = existing.filter(
      ([address, , name, isAutomatic]) =>
        name === '' && Number(isAutomatic) === 1 && names.get(address as string) !== '',
    );
    for (const [address, id] of nameless)
      await this.run(
        sql`UPDATE contacts SET name=${value('text', names.get(address as string) ?? '')},"updatedAt"=${value('datetime', now)},_v=_v+1 WHERE id=${value('integer', Number(id))}`,
      );
    return { created: rows.map(([id]) => Number(id)), named: nameless.map(([, id]) => Number(id)) };
  }

  /** Stores that contacts with some addresses were destroyed, or do not have them any more. @param now ISO 8601. */
  async addRemovals(addresses: readonly string[], now: string): Promise<void> {
    await insertRows(
      this.run,
      this.database.dialect,
      'contactRemovals',
      [
        ['accountId', 'integer'],
        ['address', 'text'],
        ['at', 'datetime'],
      ],
      [...new Set(addresses)].map((address) => [this.account, address, now]),
      sql` ON CONFLICT ("accountId",address) DO UPDATE SET at=excluded.at,"contactId"=NULL`,
    );
  }

  /** Stores that removed addresses belong to a contact now. */
  async assignAddresses(addresses: readonly string[], contact: number): Promise<void> {
    const isNamed = this.database.dialect.isIn(sql`address`, listValue('text', addresses));
    await this.run(
      sql`UPDATE "contactRemovals" SET "contactId"=${value('integer', contact)} WHERE ${this.isOfAccount} AND ${isNamed}`,
    );
  }

  /**
   * The senders of received messages of the account with some Message-IDs, with the properties that distinguish
   * programs from people.
   */
  async findAnswered(messageIds: readonly string[]): Promise<AnsweredMessage[]> {
    if (messageIds.length === 0) return [];
    const { dialect } = this.database;
    const isAnswered = dialect.isIn(sql`e."messageId"`, listValue('text', messageIds));
    const rows = await this.run(
      sql`SELECT e."messageId",e."from",c.headers FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${value('integer', this.account)} AND ${isAnswered} AND NOT ${dialect.isTrue(sql`e.outgoing`)}`,
    );
    return rows.map(([messageId, from, headers]) => ({
      messageId: messageId as string,
      from: (parseJsonColumn(from) ?? []) as readonly MailAddressValue[],
      headers: (parseJsonColumn(headers) ?? []) as AnsweredMessage['headers'],
    }));
  }
}

/** A received message that the account has answered. */
export interface AnsweredMessage {
  readonly messageId: string;
  readonly from: readonly MailAddressValue[];
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A message that an account wrote, as far as contacts depend on it. */
export interface SentMessage {
  readonly to: readonly MailAddressValue[];
  readonly cc: readonly MailAddressValue[];
  readonly bcc: readonly MailAddressValue[];
  readonly headers: AnsweredMessage['headers'];
  readonly inReplyTo: readonly string[];
  /** ISO 8601. */
  readonly receivedAt: string;
}

/** Messages that an account wrote, after a key, by key. @param folders those with sent messages. */
export async function readSentMessages(
  database: Database,
  account: number,
  folders: readonly string[],
  { after, max }: { readonly after: number; readonly max: number },
): Promise<(SentMessage & { readonly id: number })[]> {
  const { dialect } = database;
  const rows = await createReader(database)(
    sql`SELECT e.id,e."to",e.cc,c.bcc,c.headers,c."inReplyTo",${dialect.scalar('datetime', sql`e."receivedAt"`)} FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e."accountId"=${value('integer', account)} AND e.id>${value('bigint', after)} AND ${dialect.isIn(sql`e.folder`, listValue('text', folders))} ORDER BY e.id LIMIT ${max}`,
  );
  return rows.map(([id, to, cc, bcc, headers, inReplyTo, receivedAt]) => {
    const [toList, ccList, bccList] = [to, cc, bcc].map((each) => (parseJsonColumn(each) ?? []) as MailAddressValue[]);
    return {
      id: Number(id),
      to: toList ?? [],
      cc: ccList ?? [],
      bcc: bccList ?? [],
      headers: (parseJsonColumn(headers) ?? []) as SentMessage['headers'],
      inReplyTo: (parseJsonColumn(inReplyTo) ?? []) as string[],
      receivedAt: receivedAt as string,
    };
  });
}

/** The addresses of a contact. */
export interface StoredContact {
  readonly id: number;
  readonly account: number;
  readonly address: string;
  /** Those of contacts that were merged into it. */
  readonly otherAddresses: readonly string[];
}

/** Accounts and addresses of contacts. */
export async function readContactAddresses(
  database: Database,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<StoredContact[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT id,"accountId",address,"otherAddresses" FROM contacts WHERE ${database.dialect.isIn(sql`id`, listValue('integer', keys))}`,
  );
  return rows.map(([id, account, address, others]) => ({
    id: Number(id),
    account: Number(account),
    address: address as string,
    otherAddresses: (parseJsonColumn(others) ?? []) as string[],
  }));
}

/** The contact into which the contact with the address of another one was merged; null if there is none. */
export async function findMergedContact(
  database: Database,
  transaction: Transaction,
  contact: number,
): Promise<number | null> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT r."contactId" FROM contacts c JOIN "contactRemovals" r ON r."accountId"=c."accountId" AND r.address=c.address WHERE c.id=${value('integer', contact)}`,
  );
  return row === undefined || row[0] === null ? null : Number(row[0]);
}

/** The groups of contacts. */
export async function readGroupsOfContacts(
  database: Database,
  transaction: Transaction,
  contacts: readonly number[],
): Promise<{ readonly group: number; readonly contact: number }[]> {
  const isNamed = database.dialect.isIn(sql`"contactId"`, listValue('integer', contacts));
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT "groupId","contactId" FROM "contactGroupMembers" WHERE ${isNamed} ORDER BY "groupId"`);
  return rows.map(([group, contact]) => ({ group: Number(group), contact: Number(contact) }));
}

/** Marks a contact as edited, so that mail no longer changes it. @returns whether this was the first edit. */
export async function setEdited(database: Database, transaction: Transaction, key: number): Promise<boolean> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE contacts SET automatic=${value('boolean', false)} WHERE id=${value('integer', key)} AND ${database.dialect.isTrue(sql`automatic`)} RETURNING id`,
  );
  return rows.length > 0;
}

/** The accounts of groups. */
export async function readGroupAccounts(
  database: Database,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<number[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT DISTINCT "accountId" FROM "contactGroups" WHERE ${database.dialect.isIn(sql`id`, listValue('integer', keys))}`,
  );
  return rows.map(([id]) => Number(id));
}

/** The keys of the contacts in a group, in their order. */
export async function readGroupMembers(database: Database, transaction: Transaction, group: number): Promise<number[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT "contactId" FROM "contactGroupMembers" WHERE "groupId"=${value('integer', group)} ORDER BY "contactId"`);
  return rows.map(([id]) => Number(id));
}

/**
 * Sets the contacts in a group.
 *
 * @returns false if one of them belongs to another account than the group. Nothing is written then.
 */
export async function setGroupMembers(
  database: Database,
  transaction: Transaction,
  group: number,
  keys: readonly number[],
): Promise<boolean> {
  const run = createTxRunner(database, transaction);
  const groupKey = value('integer', group);
  const isNamed = database.dialect.isIn(sql`id`, listValue('integer', keys));
  const [counted] = await run(
    sql`SELECT count(*) FROM contacts WHERE ${isNamed} AND "accountId"=(SELECT "accountId" FROM "contactGroups" WHERE id=${groupKey})`,
  );
  if (Number(counted?.[0]) < keys.length) return false;
  transaction.touch('contactGroupMembers');
  await run(sql`DELETE FROM "contactGroupMembers" WHERE "groupId"=${groupKey}`);
  await insertRows(
    run,
    database.dialect,
    'contactGroupMembers',
    [
      ['groupId', 'integer'],
      ['contactId', 'integer'],
    ],
    keys.map((key) => [group, key]),
  );
  return true;
}

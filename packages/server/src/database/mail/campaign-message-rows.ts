/** Statements about the messages of campaigns: one for each recipient. */
import type { Database, Transaction } from '../database.ts';
import { type Columns, insertRows } from '../row-insert.ts';
import { createReader, createRunner, createTxRunner } from '../run-statement.ts';
import { join, listValue, type Sql, sql, value } from '../sql.ts';
import { TransactionRows } from './transaction-rows.ts';

/** A recipient of a campaign. Times are ISO 8601. */
export interface CampaignMessage {
  readonly id: number;
  readonly campaignId: number;
  readonly accountId: number;
  readonly recordKey: string;
  readonly address: string;
  readonly status: string;
  readonly reason: string | null;
  readonly sentAt: string | null;
  readonly bouncedAt: string | null;
  readonly repliedAt: string | null;
  readonly unsubscribedAt: string | null;
  readonly openedAt: string | null;
  readonly clickedAt: string | null;
}

/** The columns with the times at which something happened to a message. */
const messageTimes = ['sentAt', 'bouncedAt', 'repliedAt', 'unsubscribedAt', 'openedAt', 'clickedAt'] as const;

/** A new recipient. The address is in lower case. */
export interface NewCampaignMessage {
  readonly recordKey: string;
  readonly address: string;
}

/** A recipient whose message is due. */
export interface QueuedCampaignMessage extends NewCampaignMessage {
  readonly id: number;
  readonly domain: string;
}

const newColumns: Columns = [
  ['accountId', 'integer'],
  ['campaignId', 'integer'],
  ['recordKey', 'text'],
  ['address', 'text'],
  ['domain', 'text'],
  ['status', 'text'],
];

/** The part of an address after the @. */
export function readAddressDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** The messages of campaigns inside a transaction that holds the lock of the account's mail. */
export class CampaignMessageRows extends TransactionRows {
  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['mailCampaignMessages']);
  }

  /** Adds recipients. Addresses that the campaign already has are left out. @returns how many were added. */
  async add(account: number, campaign: number, recipients: readonly NewCampaignMessage[]): Promise<number> {
    const rows = recipients.map(({ recordKey, address }) => [
      account,
      campaign,
      recordKey,
      address,
      readAddressDomain(address),
      'queued',
    ]);
    const onConflict = sql` ON CONFLICT ("campaignId",address) DO NOTHING RETURNING id`;
    return (await insertRows(this.run, this.database.dialect, 'mailCampaignMessages', newColumns, rows, onConflict))
      .length;
  }

  /** Claims a recipient, so that no other transaction sends to it. @returns false if it is not queued any more. */
  async claim(id: number, now: string): Promise<boolean> {
    const rows = await this.run(
      sql`UPDATE "mailCampaignMessages" SET status='sending',"queuedAt"=${value('datetime', now)},_v=_v+1 WHERE id=${value('integer', id)} AND status='queued' RETURNING id`,
    );
    return rows.length > 0;
  }

  /** Stores which e-mail was written for a recipient. */
  async setEmail(id: number, email: number, messageId: string): Promise<void> {
    await this.run(
      sql`UPDATE "mailCampaignMessages" SET "emailId"=${value('bigint', email)},"messageId"=${value('text', messageId.slice(0, 255))} WHERE id=${value('integer', id)}`,
    );
  }

  /** Stores the outcome of a message. */
  async change(id: number, { status, reason, ...times }: Omit<CampaignMessage, keyof FixedParts>): Promise<void> {
    const set = join(
      messageTimes.map((name) => sql`${`"${name}"`}=${value('datetime', times[name])}`),
      ',',
    );
    await this.run(
      sql`UPDATE "mailCampaignMessages" SET status=${value('text', status)},reason=${value('text', reason)},${set},_v=_v+1 WHERE id=${value('integer', id)}`,
    );
  }

  /** Cancels recipients to whom nothing was sent. @returns their keys, at most `max`. */
  async cancelQueued(campaign: number, max: number): Promise<number[]> {
    const queued = sql`SELECT id FROM "mailCampaignMessages" WHERE "campaignId"=${value('integer', campaign)} AND status='queued' ORDER BY id LIMIT ${max}`;
    const rows = await this.run(
      sql`UPDATE "mailCampaignMessages" SET status='cancelled',_v=_v+1 WHERE id IN (${queued}) RETURNING id`,
    );
    return rows.map(([id]) => Number(id));
  }
}

type FixedParts = Pick<CampaignMessage, 'id' | 'campaignId' | 'accountId' | 'recordKey' | 'address'>;

/** The message of a campaign by its key or by its e-mail; null if there is none. */
export async function readCampaignMessage(
  database: Database,
  transaction: Transaction | null,
  which: { readonly id: number } | { readonly email: number },
): Promise<CampaignMessage | null> {
  const condition =
    'id' in which ? sql`id=${value('integer', which.id)}` : sql`"emailId"=${value('bigint', which.email)}`;
  const [found] = await readMessages(database, transaction, condition);
  return found ?? null;
}

/** The messages of an account's campaigns with some Message-IDs. */
export function findByMessageIds(
  database: Database,
  transaction: Transaction,
  account: number,
  messageIds: readonly string[],
): Promise<(CampaignMessage & { readonly messageId: string })[]> {
  const isNamed = database.dialect.isIn(sql`"messageId"`, listValue('text', messageIds));
  return readMessages(database, transaction, sql`"accountId"=${value('integer', account)} AND ${isNamed}`);
}

async function readMessages(
  database: Database,
  transaction: Transaction | null,
  condition: Sql,
): Promise<(CampaignMessage & { readonly messageId: string })[]> {
  const { dialect } = database;
  const times = join(
    messageTimes.map((name) => dialect.scalar('datetime', sql`${`"${name}"`}`)),
    ',',
  );
  const rows = await createRunner(
    database,
    transaction,
  )(
    sql`SELECT id,"campaignId","accountId","recordKey",address,status,reason,"messageId",${times} FROM "mailCampaignMessages" WHERE ${condition}`,
  );
  return rows.map(([id, campaign, account, recordKey, address, status, reason, messageId, ...at]) => ({
    id: Number(id),
    campaignId: Number(campaign),
    accountId: Number(account),
    recordKey: recordKey as string,
    address: address as string,
    status: status as string,
    reason: reason as string | null,
    messageId: (messageId ?? '') as string,
    ...readTimes(at),
  }));
}

function readTimes(values: readonly unknown[]): Pick<CampaignMessage, (typeof messageTimes)[number]> {
  const [sentAt, bouncedAt, repliedAt, unsubscribedAt, openedAt, clickedAt] = values as (string | null)[];
  return {
    sentAt: sentAt ?? null,
    bouncedAt: bouncedAt ?? null,
    repliedAt: repliedAt ?? null,
    unsubscribedAt: unsubscribedAt ?? null,
    openedAt: openedAt ?? null,
    clickedAt: clickedAt ?? null,
  };
}

/** How fast a campaign sends to one domain. */
export interface DomainRate {
  /** Messages since {@link since}; null: no limit. */
  readonly max: number | null;
  /** ISO 8601. */
  readonly since: string;
}

/** The next recipients of a campaign, without those of domains that have reached their limit for this minute. */
export async function readQueuedMessages(
  database: Database,
  campaign: number,
  max: number,
  { max: domainMax, since }: DomainRate,
): Promise<QueuedCampaignMessage[]> {
  const isOfCampaign = sql`"campaignId"=${value('integer', campaign)}`;
  const isFree =
    domainMax === null
      ? sql``
      : sql` AND domain NOT IN (SELECT domain FROM "mailCampaignMessages" WHERE ${isOfCampaign} AND "queuedAt">${value('datetime', since)} GROUP BY domain HAVING count(*)>=${value('integer', domainMax)})`;
  const rows = await createReader(database)(
    sql`SELECT id,"recordKey",address,domain FROM "mailCampaignMessages" WHERE ${isOfCampaign} AND status='queued'${isFree} ORDER BY id LIMIT ${max}`,
  );
  return rows.map(([id, recordKey, address, domain]) => ({
    id: Number(id),
    recordKey: recordKey as string,
    address: address as string,
    domain: domain as string,
  }));
}

/** How many messages were sent to each domain since a time. */
export async function countByDomain(
  database: Database,
  transaction: Transaction,
  campaign: number,
  since: string,
): Promise<Map<string, number>> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT domain,count(*) FROM "mailCampaignMessages" WHERE "campaignId"=${value('integer', campaign)} AND "queuedAt">${value('datetime', since)} GROUP BY domain`,
  );
  return new Map(rows.map(([domain, count]) => [domain as string, Number(count)]));
}

/** Whether a campaign has recipients with one of two statuses. */
export async function hasMessages(
  database: Database,
  campaign: number,
): Promise<{ readonly queued: boolean; readonly sending: boolean }> {
  const exists = (status: string): Sql =>
    sql`CASE WHEN EXISTS (SELECT 1 FROM "mailCampaignMessages" WHERE "campaignId"=${value('integer', campaign)} AND status=${value('text', status)}) THEN 1 ELSE 0 END`;
  const [row] = await createReader(database)(sql`SELECT ${exists('queued')},${exists('sending')}`);
  return { queued: Number(row?.[0]) === 1, sending: Number(row?.[1]) === 1 };
}

/** The number of messages in the outbox of an account that no attempt was made for. */
export async function countWaiting(database: Database, account: number, max: number): Promise<number> {
  const [row] = await createReader(database)(
    sql`SELECT count(*) FROM (SELECT 1 AS one FROM "mailOutbox" WHERE status IN ('queued','sending') AND "accountId"=${value('integer', account)} AND attempts<=1 LIMIT ${max}) w`,
  );
  return Number(row?.[0]);
}

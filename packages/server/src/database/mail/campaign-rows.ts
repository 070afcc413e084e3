/** Statements about campaigns: what the worker reads of them, and their states. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createReader, createRunner, createTxRunner } from '../run-statement.ts';
import { join, type Sql, sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';

export type CampaignStatus = 'draft' | 'scheduled' | 'sending' | 'paused' | 'done' | 'cancelled';

/** A stored campaign. Its audience and its templates were checked when it was saved. */
export interface StoredCampaign {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly audience: unknown;
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
  readonly ratePerMinute: number;
  readonly domainRatePerMinute: number | null;
  readonly status: CampaignStatus;
  /** ISO 8601. */
  readonly scheduledAt: string | null;
  /** The user as whom the campaign reads its audience and sends; null for a draft, or if the user was deleted. */
  readonly ownerId: number | null;
  readonly role: string | null;
  readonly recipientsComplete: boolean;
  readonly audienceCursor: string | null;
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
}

/** The changes that a step makes to a campaign. Absent members do not change. Times are ISO 8601. */
export interface CampaignChange {
  readonly status?: CampaignStatus;
  readonly scheduledAt?: string | null;
  readonly startedAt?: string;
  readonly finishedAt?: string | null;
  readonly problem?: string | null;
  readonly owner?: { readonly user: number; readonly role: string };
  readonly recipientsComplete?: boolean;
  readonly audienceCursor?: string | null;
  readonly nextAt?: string;
  /** Added to the counters. */
  readonly counts?: CampaignCounts;
  /** Nothing is changed unless the campaign has one of these statuses, and its next message is due. */
  readonly only?: { readonly statuses?: readonly CampaignStatus[]; readonly dueAt?: string };
}

/** Counters of a campaign, or what is added to them. */
export type CampaignCounts = Readonly<Partial<Record<CampaignCounter, number>>>;

export const campaignCounters = [
  'recipients',
  'leftOut',
  'sent',
  'failed',
  'unknown',
  'bounced',
  'replied',
  'unsubscribed',
  'skipped',
  'opened',
  'clicked',
] as const;

export type CampaignCounter = (typeof campaignCounters)[number];

/** A campaign; null if it does not exist. @param transaction null: outside of a transaction. */
export async function readCampaign(
  database: Database,
  transaction: Transaction | null,
  id: number,
): Promise<StoredCampaign | null> {
  const { dialect } = database;
  const [row] = await createRunner(
    database,
    transaction,
  )(
    sql`SELECT id,"accountId",name,audience,subject,text,html,"ratePerMinute","domainRatePerMinute",status,${dialect.scalar('datetime', sql`"scheduledAt"`)},"ownerId",role,"recipientsComplete","audienceCursor","trackOpens","trackClicks" FROM "mailCampaigns" WHERE id=${value('integer', id)}`,
  );
  return row ? toCampaign(row) : null;
}

/** Changes a campaign. @returns whether it was changed. */
export async function changeCampaign(
  database: Database,
  transaction: Transaction,
  id: number,
  change: CampaignChange,
): Promise<boolean> {
  transaction.touch('mailCampaigns');
  const { only = {} } = change;
  const conditions = [sql`id=${value('integer', id)}`];
  if (only.statuses) {
    const statuses = only.statuses.map((each) => sql`${value('text', each)}`);
    conditions.push(sql`status IN (${join(statuses, ',')})`);
  }
  if (only.dueAt) conditions.push(sql`("nextAt" IS NULL OR "nextAt"<=${value('datetime', only.dueAt)})`);
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE "mailCampaigns" SET ${listAssignments(change)} WHERE ${join(conditions, ' AND ')} RETURNING id`);
  return rows.length > 0;
}

function listAssignments(change: CampaignChange): Sql {
  const { owner, counts = {}, status, problem, audienceCursor, recipientsComplete } = change;
  const set: Sql[] = [sql`_v=_v+1`];
  if (status !== undefined) set.push(sql`status=${value('text', status)}`);
  if (problem !== undefined) set.push(sql`problem=${value('text', problem)}`);
  if (audienceCursor !== undefined) set.push(sql`"audienceCursor"=${value('text', audienceCursor)}`);
  if (recipientsComplete !== undefined) set.push(sql`"recipientsComplete"=${value('boolean', recipientsComplete)}`);
  if (owner) set.push(sql`"ownerId"=${value('integer', owner.user)},role=${value('text', owner.role)}`);
  for (const name of ['scheduledAt', 'startedAt', 'finishedAt', 'nextAt'] as const)
    if (change[name] !== undefined) set.push(sql`${`"${name}"`}=${value('datetime', change[name])}`);
  for (const name of campaignCounters)
    if (counts[name]) set.push(sql`${`"${name}"`}=${`"${name}"`}+${value('integer', counts[name])}`);
  return join(set, ',');
}

/** A campaign that the worker must process. */
export interface OpenCampaign {
  readonly id: number;
  readonly accountId: number;
  /** In milliseconds since the Unix epoch; null: now. */
  readonly dueAt: number | null;
}

/**
 * Campaigns that send, that are scheduled, or that were cancelled and have recipients left. Those of accounts that are being deleted are
 * left out.
 */
export async function readOpenCampaigns(database: Database): Promise<OpenCampaign[]> {
  const { dialect } = database;
  const hasQueued = sql`EXISTS (SELECT 1 FROM "mailCampaignMessages" m WHERE m."campaignId"=c.id AND m.status='queued')`;
  const due = sql`CASE c.status WHEN 'scheduled' THEN c."scheduledAt" WHEN 'sending' THEN c."nextAt" ELSE NULL END`;
  const rows = await createReader(database)<[id: number, account: number, due: string | null]>(
    sql`SELECT id,account,${dialect.scalar('datetime', sql`due`)} FROM (SELECT c.id AS id,c."accountId" AS account,${due} AS due FROM "mailCampaigns" c JOIN accounts a ON a.id=c."accountId" WHERE a.status<>${value('text', deletingStatus)} AND (c.status IN ('sending','scheduled') OR (c.status='cancelled' AND ${hasQueued})) ORDER BY c.id LIMIT 1000) o`,
  );
  return rows.map(([id, accountId, at]) => ({
    id: Number(id),
    accountId: Number(accountId),
    dueAt: at === null ? null : Date.parse(at),
  }));
}

/** Whether an account has a campaign that has sent something, or may have. */
export async function hasStartedCampaign(
  database: Database,
  transaction: Transaction,
  account: number,
): Promise<boolean> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`SELECT 1 FROM "mailCampaigns" WHERE "accountId"=${value('integer', account)} AND status NOT IN ('draft','scheduled') LIMIT 1`,
  );
  return rows.length > 0;
}

function toCampaign(row: readonly unknown[]): StoredCampaign {
  const [id, accountId, name, audience, subject, text, html, ...more] = row;
  const [ratePerMinute, domainRatePerMinute, status, scheduledAt, ownerId, role, complete, cursor, opens, clicks] =
    more;
  return {
    id: Number(id),
    accountId: Number(accountId),
    name: name as string,
    audience: parseJsonColumn(audience),
    subject: (subject ?? '') as string,
    text: text as string | null,
    html: html as string | null,
    ratePerMinute: Number(ratePerMinute),
    domainRatePerMinute: domainRatePerMinute === null ? null : Number(domainRatePerMinute),
    status: status as CampaignStatus,
    scheduledAt: scheduledAt as string | null,
    ownerId: ownerId === null ? null : Number(ownerId),
    role: role as string | null,
    recipientsComplete: Boolean(complete),
    audienceCursor: cursor as string | null,
    trackOpens: Boolean(opens),
    trackClicks: Boolean(clicks),
  };
}

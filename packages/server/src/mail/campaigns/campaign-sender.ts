/**
 * Sends campaigns in the background, in small steps: stores the recipients page by page, and puts the messages into the outbox at the
 * campaign's rate. Any number of servers share the work, and a step runs on one of them at a time.
 *
 * A recipient and its message in the outbox change in one transaction, so a server that dies leaves a recipient either queued or in the
 * outbox, whose delivery sends each message at most once.
 */
import { BackgroundWorker } from '../../base/background-worker.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import {
  type CampaignChange,
  type CampaignStatus,
  changeCampaign,
  type OpenCampaign,
  readCampaign,
  readOpenCampaigns,
  type StoredCampaign,
} from '../../database/mail/campaign-rows.ts';
import { isAccountMember } from '../../database/mail/rule-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { ApplyRulesParts } from '../automation/apply-rules.ts';
import type { MailStore } from '../mail-store.ts';

/** What sending the campaigns of an application works with. */
export interface CampaignSenderParts extends Pick<ApplyRulesParts, 'withRuleContexts'> {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mail: MailStore;
  readonly presence: AccountPresence;
}

/** How often the store is checked for what other servers and requests have started. */
const scanIntervalMilliseconds = 2000;
/** Another server works on the campaign, or a step failed. */
const retryMilliseconds = 1000;
/** A campaign that is scheduled for later than this does not keep its application open. */
const maxPauseMilliseconds = 60_000;
/** Between two steps of one campaign. */
const minPauseMilliseconds = 5;

/** The campaigns of one application. */
export class CampaignSender {
  readonly #parts: CampaignSenderParts;
  readonly #worker: BackgroundWorker;
  #isActive = false;

  constructor(parts: CampaignSenderParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => this.#work(),
      onError: (error) => {
        parts.logger.warn({ err: error }, 'Campaigns could not be sent. It is tried again in a second.');
        this.#worker.wake(retryMilliseconds);
      },
      intervalMilliseconds: scanIntervalMilliseconds,
    });
  }

  /** Continues what an earlier run left. */
  begin(): void {
    this.#worker.start();
    this.#worker.wake();
  }

  /** A campaign was started, resumed, scheduled or cancelled. */
  wake(): void {
    this.#parts.presence.recheck();
    this.#worker.wake();
  }

  /** Whether a campaign is being sent. */
  get isRunning(): boolean {
    return this.#isActive;
  }

  /** When the next step is due, in milliseconds since the Unix epoch; null: no campaign waits. */
  async nextDue(): Promise<number | null> {
    const open = await readOpenCampaigns(this.#parts.database);
    return open.length === 0 ? null : Math.min(...open.map(({ dueAt }) => dueAt ?? 0));
  }

  /** Stops after the step under way. */
  end(): Promise<void> {
    return this.#worker.stop();
  }

  async #work(): Promise<void> {
    if (!(await this.#parts.presence.mayHaveAny())) return;
    const { database, clock } = this.#parts;
    const open = await readOpenCampaigns(database);
    const pauses: number[] = [];
    for (const campaign of open) {
      if (this.#worker.isStopped) return;
      const wait = (campaign.dueAt ?? 0) - clock.now();
      const pause = wait > 0 ? wait : await this.#tryStep(campaign);
      if (pause !== null) pauses.push(pause);
    }
    this.#isActive = pauses.some((pause) => pause < maxPauseMilliseconds);
    if (pauses.length > 0) this.#worker.wake(Math.max(minPauseMilliseconds, Math.min(...pauses, maxPauseMilliseconds)));
  }

  /** @returns milliseconds until the next step of the campaign; null: none follows. */
  async #tryStep({ id }: OpenCampaign): Promise<number | null> {
    const { database, logger } = this.#parts;
    const step = async (): Promise<{ readonly pause: number | null }> => {
      try {
        return { pause: await this.#step(id) };
      } catch (error) {
        if (this.#worker.isStopped) throw error;
        if (isRefusal(error)) return { pause: await this.#pause(id, error.message) };
        logger.warn({ err: error, campaign: id }, 'A step of a campaign failed. It is tried again in a second.');
        return { pause: retryMilliseconds };
      }
    };
    const done = await database.tryWithLock(`mail campaign ${id}`, step);
    return done ? done.pause : retryMilliseconds;
  }

  async #step(id: number): Promise<number | null> {
    const campaign = await readCampaign(this.#parts.database, null, id);
    if (campaign?.status === 'cancelled') {
      const { cancelRecipients } = await import('./send-campaign.ts');
      return cancelRecipients(this.#parts, campaign);
    }
    if (campaign?.status === 'scheduled') {
      const startedAt = isoTime(this.#parts.clock.now());
      await this.#change(campaign, { status: 'sending', startedAt }, ['scheduled'], 'started');
      return 0;
    }
    if (campaign?.status !== 'sending') return null;
    const { storeRecipients, sendBatch, requireCampaignWriter } = await import('./send-campaign.ts');
    return this.#parts.withRuleContexts(async ({ getUserContext }) => {
      const context = await this.#requireOwner(campaign, getUserContext);
      requireCampaignWriter(context);
      const work = { context, mail: this.#parts.mail, campaign };
      if (!campaign.recipientsComplete) return storeRecipients(work);
      const result = await sendBatch(work);
      if (result !== 'done') return result;
      const finishedAt = isoTime(this.#parts.clock.now());
      await this.#change(campaign, { status: 'done', finishedAt }, ['sending'], 'done');
      return null;
    });
  }

  /** The context of the user as whom the campaign sends, who must still be allowed to. */
  async #requireOwner(
    { accountId, ownerId, role }: StoredCampaign,
    getUserContext: (user: number, role: string) => Promise<RecordContext | null>,
  ): Promise<RecordContext> {
    const context = ownerId === null || role === null ? null : await getUserContext(ownerId, role);
    if (!context || ownerId === null || !(await isAccountMember(this.#parts.database, null, accountId, ownerId)))
      throw new ApiError('NO_PERMISSION', ownerGoneProblem);
    return context;
  }

  /** Pauses a campaign that may not go on. */
  async #pause(id: number, problem: string): Promise<null> {
    const campaign = await readCampaign(this.#parts.database, null, id);
    if (campaign) await this.#change(campaign, { status: 'paused', problem }, ['sending', 'scheduled'], 'paused');
    return null;
  }

  async #change(
    { id, accountId }: StoredCampaign,
    change: CampaignChange,
    statuses: readonly CampaignStatus[],
    activity: string,
  ): Promise<void> {
    const { appendCampaignActivity } = await import('./campaign-events.ts');
    await this.#write(accountId, async (transaction) => {
      if (await changeCampaign(this.#parts.database, transaction, id, { ...change, only: { statuses } }))
        await appendCampaignActivity(transaction, this.#source, { campaign: id, activity });
    });
  }

  #write<T>(account: number, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#parts.database.write(work, { lockKey: `mail ${account}` });
  }

  get #source() {
    const { changes, clock } = this.#parts;
    return { changes, clock, actor: null, requestId: null };
  }
}

const ownerGoneProblem =
  'The user as whom the campaign is sent was suspended or deleted, lost the role, or is no longer a member of the account. Resume it to send it as you.';

const passing: ReadonlySet<string> = new Set([
  'BUSY',
  'DATABASE_UNAVAILABLE',
  'QUERY_TIMEOUT',
  'STOPPING',
  'FILES_UNAVAILABLE',
]);

/** Whether the same step would be refused again until somebody changes something. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.retryAfter === undefined && !passing.has(error.code);
}

/**
 * Checks the authenticity of received e-mails in the background, the newest first. Which e-mails are left is stored, so a restart or
 * another server continues. Storing never waits for it: name servers may be slow.
 */
import { isDeepStrictEqual } from 'node:util';
import { pairUp } from '../../base/aligned-lists.ts';
import { BackgroundWorker } from '../../base/background-worker.ts';
import type { BlobStore } from '../../base/blob-store.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { DnsResolver } from '../../base/dns-resolver.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database } from '../../database/database.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import {
  beginChecks,
  type CheckResult,
  countChecks,
  type DueCheck,
  readDueChecks,
  storeCheckResults,
} from '../../database/mail/check-rows.ts';
import { CorrespondentRows, findAccountsWithoutCorrespondents } from '../../database/mail/correspondent-rows.ts';
import { type ParsePool, ParsePoolClosed } from '../parse/parse-pool.ts';
import { appendMailEvent } from '../store/mail-events.ts';
import type { AccountKnowledge } from './account-knowledge.ts';
import { AuthservNames } from './learn-authserv-ids.ts';
import { type MailAuthentication, parseDomain } from './mail-authentication.ts';
import { combineWarnings } from './sender-warnings.ts';
import { type ReceivingServer, verifyAuthenticity } from './verify-authenticity.ts';

/** What the checks of one application work with. */
export interface AuthenticityParts {
  readonly presence: AccountPresence;
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly parser: Pick<ParsePool, 'checkSignatures'>;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Null: no name server is queried. */
  readonly dns: DnsResolver | null;
}

/** E-mails that are checked together, and at most at the same time. */
const batchSize = 24;
const concurrency = 6;
/** Messages that arrive together are checked together. */
const debounceMilliseconds = 200;
const scanIntervalMilliseconds = 30_000;
/** A message whose check was interrupted more often, by the end of the process, is not checked any more. */
const maxAttempts = 8;
/** Waits after checks at which name servers did not answer. */
const retryMilliseconds = [60_000, 15 * 60_000, 2 * 3_600_000] as const;
/** No event is emitted about older messages: they belong to a first synchronisation or an import. */
const eventMilliseconds = 86_400_000;
const headBytes = 300 * 1024;

/** The background checks of one application. */
export class AuthenticityChecks {
  readonly #parts: AuthenticityParts;
  readonly #worker: BackgroundWorker;
  readonly #names = new AuthservNames();
  #stopping = Promise.withResolvers<null>();

  constructor(parts: AuthenticityParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => parts.presence.runIfAny(() => this.#run()),
      onError: (error) => parts.logger.warn({ err: error }, 'the senders of e-mails could not be verified yet'),
      debounceMilliseconds,
      intervalMilliseconds: scanIntervalMilliseconds,
    });
  }

  /** Whether checks are running. */
  get isRunning(): boolean {
    return this.#worker.isRunning;
  }

  /** Continues what an earlier run left. */
  begin(): void {
    this.#stopping = Promise.withResolvers<null>();
    this.#worker.start();
    this.#worker.wake();
  }

  /** Checks soon what is due. */
  wake(): void {
    this.#parts.presence.recheck();
    this.#worker.wake();
  }

  /** Resolves when everything that is due is checked, or when a check has failed. */
  runNow(): Promise<void> {
    this.#parts.presence.recheck();
    return this.#worker.runNow();
  }

  /** E-mails that are still to be checked, now or later. */
  countWaiting(): Promise<number> {
    return countChecks(this.#parts.database);
  }

  /** Interrupts running checks, which wait for name servers. They are repeated after the next start. */
  end(): Promise<void> {
    const stopped = this.#worker.stop();
    this.#stopping.resolve(null);
    return stopped;
  }

  async #run(): Promise<void> {
    const { database, clock } = this.#parts;
    await database.tryWithLock('mail authenticity', async () => {
      await this.#complete();
      let knowledge: AccountKnowledge | null = null;
      while (!this.#worker.isStopped) {
        const due = await readDueChecks(database, isoTime(clock.now()), batchSize);
        if (due.length === 0) return;
        knowledge ??= await this.#createKnowledge();
        await this.#checkBatch(due, knowledge);
      }
    });
  }

  /** Stores what an earlier server version did not store. */
  async #complete(): Promise<void> {
    const { database, clock } = this.#parts;
    const accounts = await findAccountsWithoutCorrespondents(database);
    if (accounts.length === 0) return;
    const { completeCorrespondents } = await import('./complete-correspondents.ts');
    await completeCorrespondents({ database, clock, accounts }, () => this.#worker.isStopped);
  }

  async #createKnowledge(): Promise<AccountKnowledge> {
    const { AccountKnowledge: Knowledge } = await import('./account-knowledge.ts');
    return new Knowledge(this.#parts.database, this.#parts.clock, this.#names);
  }

  async #checkBatch(due: readonly DueCheck[], knowledge: AccountKnowledge): Promise<void> {
    const { database } = this.#parts;
    const ids = due.map(({ id }) => id);
    await database.write((transaction) => beginChecks(database, transaction, ids));
    for (const [account, checks] of Map.groupBy(due, ({ accountId }) => accountId)) {
      const server = await knowledge.readServer(account);
      const found = await mapConcurrently(checks, (check) =>
        Promise.race([this.#verify(check, server), this.#stopping.promise]),
      );
      if (this.#worker.isStopped) return;
      await this.#store(account, pairUp(checks, found), knowledge);
    }
  }

  /** @returns null where the check was interrupted: it is repeated later. */
  async #verify(check: DueCheck, server: ReceivingServer): Promise<MailAuthentication | null> {
    const { parser, dns, clock } = this.#parts;
    const checkedAt = isoTime(clock.now());
    const sender = chooseSender(check);
    try {
      if (check.attempts >= maxAttempts) throw new Error('The check was interrupted too often.');
      const message = {
        headers: check.headers,
        sender,
        read: (isHeadOnly: boolean) => this.#read(check, isHeadOnly),
        isFromServer: check.isFromServer,
      };
      return await verifyAuthenticity(message, server, checkedAt, {
        dns,
        checkSignatures: (request) => parser.checkSignatures(request),
      });
    } catch (error) {
      if (this.#worker.isStopped || error instanceof ParsePoolClosed) return null;
      const reason = error instanceof Error ? error.message.slice(0, 200) : null;
      const failed = {
        method: 'dkim',
        result: 'permerror',
        domain: null,
        aligned: null,
        reason,
        source: 'checked',
      } as const;
      return { verdict: 'unverified', domain: parseDomain(sender), checkedAt, results: [failed] };
    }
  }

  async #read({ accountId, rawSha256 }: DueCheck, isHeadOnly: boolean): Promise<Uint8Array> {
    const { blobs } = this.#parts;
    if (!isHeadOnly) return (await blobs.get(accountId, rawSha256)) ?? new Uint8Array();
    const blob = await blobs.open(accountId, rawSha256);
    if (!blob || blob.size === 0) return new Uint8Array();
    const pieces: Uint8Array[] = [];
    for await (const piece of blob.read(0, Math.min(blob.size, headBytes) - 1)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async #store(
    account: number,
    checked: readonly (readonly [DueCheck, MailAuthentication | null])[],
    knowledge: AccountKnowledge,
  ): Promise<void> {
    const { database, changes, clock } = this.#parts;
    const finished = checked.flatMap(([check, authentication]) => (authentication ? [{ check, authentication }] : []));
    const facts = await knowledge.readSenders(
      account,
      finished.map(({ check }) => ({ ...check, sender: chooseSender(check) })),
    );
    const now = clock.now();
    const results = pairUp(finished, facts).map(([{ check, authentication }, fact]): CheckResult => {
      const warnings = combineWarnings(check.warnings, authentication, fact);
      return {
        id: check.id,
        emailId: check.emailId,
        authentication: authentication.verdict === null ? null : authentication,
        warnings: isDeepStrictEqual(warnings, check.warnings) ? null : warnings,
        again: findRetryTime(check, authentication, now),
      };
    });
    const verified = finished.flatMap(({ check, authentication }) =>
      authentication.verdict === 'verified' ? [chooseSender(check)?.toLowerCase() ?? ''] : [],
    );
    const recent = new Set(
      finished.flatMap(({ check }) => (Date.parse(check.receivedAt) > now - eventMilliseconds ? [check.emailId] : [])),
    );
    const work = async (transaction: Parameters<Parameters<Database['write']>[0]>[0]): Promise<void> => {
      const changed = await storeCheckResults(database, transaction, results);
      await new CorrespondentRows(database, transaction, account).setVerified(verified);
      const keys = changed.filter((id) => recent.has(id));
      const event = { name: 'emails.updated', keys, changed: ['authentication', 'warnings'] } as const;
      if (keys.length > 0) await appendMailEvent(transaction, { changes, clock, actor: null, requestId: null }, event);
    };
    await database.write(work, { lockKey: `mail ${account}` });
  }
}

/** The address in From; null where it names none, or addresses of several domains: readers are shown the first one. */
function chooseSender({ from }: DueCheck): string | null {
  const addresses = from.map(({ address }) => address).filter((address) => address !== '');
  const domains = new Set(addresses.map((address) => parseDomain(address)));
  return domains.size === 1 ? (addresses[0] ?? null) : null;
}

function findRetryTime({ attempts }: DueCheck, { verdict }: MailAuthentication, now: number): string | null {
  const wait = verdict === 'undetermined' ? retryMilliseconds[attempts] : undefined;
  return wait === undefined ? null : isoTime(now + wait);
}

/** Runs work for all entries, some at the same time. @returns the results, in order. */
async function mapConcurrently<T, R>(entries: readonly T[], work: (entry: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = entries.entries();
  const run = async (): Promise<void> => {
    for (const [index, entry] of queue) results[index] = await work(entry);
  };
  await Promise.all(Array.from({ length: concurrency }, run));
  return results;
}

/** What operations are sent with, and how each of them is settled: done, tried again, or given up. */
import { isoTime } from '../../base/clock.ts';
import type { DueOperation } from '../../database/mail/operation-rows.ts';
import { cleanServerLine, readResponseCode } from '../connect/server-text.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import type { MailOperations } from '../store/mail-operations.ts';
import type { ServerMail } from '../store/server-mail.ts';
import type { ReportedProblem } from './account-reports.ts';
import { computeSyncPause } from './backoff.ts';
import type { RawSource } from './stored-messages.ts';
import type { SyncTimes } from './sync-services.ts';
import type { SelectedMailbox, SyncSession } from './sync-session.ts';

/** What operations are sent with. */
export interface ExecutorParts {
  readonly account: MailAccount;
  readonly session: SyncSession;
  readonly operations: MailOperations;
  readonly serverMail: ServerMail;
  readonly rawSource: RawSource;
  readonly times: SyncTimes;
  readonly now: () => number;
  readonly report: (problem: ReportedProblem) => Promise<void>;
  readonly requireLease: () => void;
}

/** What a group of operations is sent with. */
export interface SendContext extends ExecutorParts {
  readonly outcome: OperationOutcome;
}

/**
 * After this many failed attempts, an operation is given up and the server's state counts. That takes about two days.
 */
const maxAttempts = 60;

/** Settles the operations of a group one by one. */
export class OperationOutcome {
  readonly #parts: ExecutorParts;
  readonly #open: Map<number, DueOperation>;

  constructor(parts: ExecutorParts, operations: readonly DueOperation[]) {
    this.#parts = parts;
    this.#open = new Map(operations.map((each) => [each.id, each]));
  }

  /** The server has done an operation. */
  async complete({ id }: DueOperation, result: Parameters<MailOperations['complete']>[2] = {}): Promise<void> {
    this.#open.delete(id);
    await this.#parts.operations.complete(this.#parts.account, id, result);
  }

  /** The server cannot do an operation: its own state counts. @param problem null: no problem is reported. */
  async drop({ id }: DueOperation, problem: ReportedProblem | null): Promise<void> {
    this.#open.delete(id);
    if (problem) await this.#parts.report(problem);
    await this.#parts.operations.drop(this.#parts.account, id);
  }

  /** An operation is tried again later. After many attempts it is dropped. */
  async fail(operation: DueOperation, error: unknown): Promise<void> {
    const { operations, account, times, now, report } = this.#parts;
    const { id, attempts } = operation;
    const problem = describeRefusal(operation, error);
    if (attempts + 1 >= maxAttempts) return this.drop(operation, problem);
    this.#open.delete(id);
    if (attempts > 0) await report(problem);
    const wait = computeSyncPause('later', attempts + 1, times.retryMilliseconds) ?? 0;
    await operations.retry(account, id, problem.message, isoTime(now() + wait));
  }

  /** An operation is queued again at once: the next poll of its mailbox finds out what became of its message. */
  async requeue({ id }: DueOperation): Promise<void> {
    this.#open.delete(id);
    await this.#parts.operations.retry(this.#parts.account, id, null, null);
  }

  /** The messages of operations are not in the selected mailbox any more. The store finds out where they are. */
  async markGone(operations: readonly DueOperation[]): Promise<void> {
    for (const each of operations) await this.requeue(each);
    await this.reportGone(operations);
  }

  /** Messages are not in their mailbox any more. */
  async reportGone(messages: readonly Pick<DueOperation, 'mailboxId' | 'uidvalidity' | 'uid'>[]): Promise<void> {
    const [first] = messages;
    if (!first || first.mailboxId === null) return;
    const { serverMail, account } = this.#parts;
    const mailbox = (await serverMail.readMailboxes(account.id)).find(({ id }) => id === first.mailboxId);
    const uids = messages.flatMap(({ uid }) => uid ?? []);
    if (mailbox?.uidvalidity === first.uidvalidity) await serverMail.applyVanished(account, mailbox, uids, {});
  }

  /** Every operation that is not settled yet has failed. */
  async failRest(error: unknown): Promise<void> {
    for (const operation of [...this.#open.values()]) await this.fail(operation, error);
  }
}

const kindNames: Readonly<Record<DueOperation['kind'], string>> = {
  flags: 'to change flags',
  move: 'to move a message',
  delete: 'to delete a message',
  append: 'to store a message',
  createMailbox: 'to create a mailbox',
  renameMailbox: 'to rename a mailbox',
  deleteMailbox: 'to delete a mailbox',
};

function describeRefusal({ kind, path, targetRawPath }: DueOperation, error: unknown): ReportedProblem {
  const { serverResponseCode, responseCode, responseText } = (error ?? {}) as Record<string, unknown>;
  const code = readResponseCode(serverResponseCode ?? responseCode);
  const where = targetRawPath ?? path;
  const place = where === null ? '' : ` in "${where}"`;
  if (code === 'OVERQUOTA')
    return {
      code: 'overQuota',
      message: `The mailbox is full: the server refuses ${kindNames[kind]}${place}.`,
      cure: 'Delete mail, or ask the mail provider for more space. The server tries again by itself.',
    };
  const text = cleanServerLine(responseText);
  const said = text === null ? '' : ` It said: “${text}”`;
  return {
    code: 'operationRefused',
    message: `The mail server refuses ${kindNames[kind]}${place}${code === null ? '' : ` (${code})`}.${said}`,
    cure: 'The server tries again by itself. If that does not help, make the change in another mail program.',
  };
}

/**
 * Selects the mailbox of a group. Operations whose UIDs are of an earlier UIDVALIDITY are tried again, because the messages get new UIDs.
 *
 * @returns null where the mailbox does not exist any more, or where its UIDs are new.
 */
export async function selectForGroup(
  { session, outcome }: SendContext,
  group: readonly DueOperation[],
): Promise<SelectedMailbox | null> {
  const [first] = group;
  if (!first || first.rawPath === null) return null;
  const selected = await session.select(first.rawPath);
  if (selected.uidvalidity === first.uidvalidity) return selected;
  for (const each of group) await outcome.requeue(each);
  return null;
}

/**
 * Sends the waiting operations of an account to its server: flags, moves, deletions, new messages, and changes of
 * mailboxes. Operations of one kind on one mailbox share a command. After a crash, an operation may already have been
 * done. Before an operation that must not be done twice is repeated, its result is searched for on the server.
 */
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import type { DueOperation } from '../../database/mail/operation-rows.ts';
import { type ExecutorParts, OperationOutcome, type SendContext } from './operation-outcome.ts';
import { appendMessages } from './send-appends.ts';
import { deleteMessages } from './send-deletions.ts';
import { storeFlags } from './send-flags.ts';
import { changeMailbox } from './send-mailbox-changes.ts';
import { moveMessages } from './send-moves.ts';
import { isRefusal } from './sync-session.ts';

/** Maximum operations that are read from the queue at once. */
const maxOperations = 500;
/** Operations of one command. */
const maxGroup = 200;
/** Sends operations on one connection. */
export class OperationExecutor {
  readonly #parts: ExecutorParts;
  #isResumed = false;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  /** Sends all operations that are due. @returns whether the mailboxes of the server may have changed by it. */
  async run(): Promise<boolean> {
    const { account, operations, requireLease } = this.#parts;
    requireLease();
    if (!this.#isResumed) await operations.requeueRunning(account);
    this.#isResumed = true;
    let hasChanged = false;
    const tried = new Set<number>();
    for (;;) {
      const due = (await operations.readDue(account, maxOperations)).filter(({ id }) => !tried.has(id));
      if (due.length === 0) return hasChanged;
      for (const group of groupOperations(due)) {
        for (const { id } of group) tried.add(id);
        requireLease();
        await this.#send(group);
        hasChanged ||= group.some(({ kind }) => kind !== 'flags');
      }
    }
  }

  async #send(group: readonly DueOperation[]): Promise<void> {
    const { account, operations } = this.#parts;
    const begun = new Set(await operations.begin(account, group));
    const running = group.filter(({ id }) => begun.has(id));
    if (running.length === 0) return;
    const outcome = new OperationOutcome(this.#parts, running);
    try {
      await sendGroup({ ...this.#parts, outcome }, running);
    } catch (error) {
      // After a lost connection the end of the operations is unknown: they stay running, and the next connection compares.
      if (!isRefusal(error)) throw error;
      await outcome.failRest(error);
    }
    await outcome.failRest(new Error('The server did not confirm the change.'));
  }
}

function sendGroup(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  switch (group[0]?.kind) {
    case 'flags':
      return storeFlags(context, group);
    case 'move':
      return moveMessages(context, group);
    case 'delete':
      return deleteMessages(context, group);
    case 'append':
      return appendMessages(context, group);
    default:
      return changeMailbox(context, group);
  }
}

/**
 * Groups operations that can share a command: of one kind, on one mailbox, with the same change. The order of operations is kept; equal
 * ones that follow each other are joined.
 */
export function groupOperations(due: readonly DueOperation[]): DueOperation[][] {
  const groups = new Map<string, DueOperation[]>();
  let part = 0;
  let lastKind = '';
  for (const each of due) {
    // Operations of different kinds depend on each other: a mailbox is created before a message is moved into it.
    if (each.kind !== lastKind) part += 1;
    lastKind = each.kind;
    const isSeparate = each.kind.endsWith('Mailbox') || each.kind === 'append';
    const key = isSeparate
      ? `${part} ${each.id}`
      : JSON.stringify([
          part,
          each.kind,
          each.mailboxId,
          each.uidvalidity,
          each.targetId,
          each.flags,
          each.attempts > 0,
        ]);
    const group = groups.get(key);
    if (group) group.push(each);
    else groups.set(key, [each]);
  }
  return [...groups.values()].flatMap((group) => splitIntoChunks(group, maxGroup));
}

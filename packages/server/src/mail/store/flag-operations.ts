/**
 * Queued operations that change flags on the mail server. Those of one e-mail never contradict each other, so the order in
 * which they are sent, and which of them is tried again later, does not matter.
 */
import type { FlagChange, MailOperation } from '../../database/mail/operation-rows.ts';
import type { ServerPlacement } from '../../database/mail/server-placement-rows.ts';
import { findOrigin, type ServerMessagePosition } from './operation-positions.ts';
import type { OperationQueue } from './operation-queue.ts';
import type { FlagWishes } from './server-flags.ts';

const noChange: FlagChange = { add: [], remove: [] };

/**
 * Queues changes of the flags of an e-mail for each of its messages. They replace what was queued for the same flags,
 * wherever the message was then. A flag that the server already has as wished is not sent.
 *
 * @param placements all of the e-mail.
 */
export function planFlags(
  queue: OperationQueue,
  emailId: number,
  placements: readonly ServerPlacement[],
  wishes: FlagWishes,
): void {
  const attempted = new Set(
    listQueuedFlags(queue, emailId).flatMap((each) => (each.attempts > 0 ? listNames(each) : [])),
  );
  const positions = placements.flatMap((each) => findOrigin(each, queue.ofEmail(emailId)) ?? []);
  if (positions.length === 0) return;
  for (const each of listQueuedFlags(queue, emailId)) setFlags(queue, each, withoutNames(each.flags, wishes));
  for (const position of positions) {
    const wanted = [...wishes].filter(
      // A flag of an earlier attempt is sent again, because the outcome of the attempt is not known.
      ([flag, isWanted]) => attempted.has(flag) || isFlagSet(queue, position, flag) !== isWanted,
    );
    addFlags(queue, position, new Map(wanted));
  }
}

/**
 * Removes flags that were changed back since from operations that are queued again after an attempt. These changes have
 * operations of their own, because an operation that is being sent is not altered.
 *
 * @param again keys of the operations.
 */
export function dropOutdatedFlags(queue: OperationQueue, again: ReadonlySet<number>): void {
  for (const each of queue.all) {
    if (!again.has(each.id) || each.kind !== 'flags' || each.emailId === null) continue;
    const newer = listQueuedFlags(queue, each.emailId).filter(({ id }) => !again.has(id));
    const added = new Set(newer.flatMap(({ flags }) => flags?.add ?? []));
    const removed = new Set(newer.flatMap(({ flags }) => flags?.remove ?? []));
    const { add, remove } = each.flags ?? noChange;
    setFlags(queue, each, {
      add: add.filter((name) => !removed.has(name)),
      remove: remove.filter((name) => !added.has(name)),
    });
  }
}

const isAt = (each: MailOperation, { mailboxId, uid }: ServerMessagePosition): boolean =>
  each.mailboxId === mailboxId && each.uid === uid;

const listNames = ({ flags }: MailOperation): string[] => [...(flags?.add ?? []), ...(flags?.remove ?? [])];

const listQueuedFlags = (queue: OperationQueue, emailId: number): MailOperation[] =>
  queue.ofEmail(emailId).filter(({ kind, status }) => kind === 'flags' && status === 'queued');

/** Whether the server has a flag when the operation that is being sent has ended; null: not known. */
function isFlagSet(queue: OperationQueue, position: ServerMessagePosition, flag: string): boolean | null {
  const running = queue
    .ofEmail(position.placement.emailId)
    .filter((each) => each.kind === 'flags' && each.status === 'running' && listNames(each).includes(flag));
  const here = running.find((each) => isAt(each, position));
  if (here) return here.flags?.add.includes(flag) ?? false;
  // An operation whose connection was lost still names where the message was. It is repeated where the message is found.
  return running.length > 0 ? null : (position.flags?.includes(flag) ?? null);
}

/**
 * Adds changes to the queued operation of a message, or queues one. Operations that are retried after a failure stay
 * separate.
 */
function addFlags(queue: OperationQueue, position: ServerMessagePosition, changes: FlagWishes): void {
  if (changes.size === 0) return;
  const { mailboxId, uidvalidity, uid, placement } = position;
  const { emailId } = placement;
  const open = listQueuedFlags(queue, emailId).find((each) => each.attempts === 0 && isAt(each, position));
  const list = (isSet: boolean): string[] =>
    [...changes].flatMap(([flag, isWanted]) => (isWanted === isSet ? [flag] : []));
  const before = open?.flags ?? noChange;
  const flags = { add: [...before.add, ...list(true)], remove: [...before.remove, ...list(false)] };
  if (open) queue.replace(open, { flags });
  else queue.add({ kind: 'flags', emailId, mailboxId, uidvalidity, uid, flags });
}

function withoutNames(flags: FlagChange | null, names: FlagWishes): FlagChange {
  const { add, remove } = flags ?? noChange;
  return { add: add.filter((name) => !names.has(name)), remove: remove.filter((name) => !names.has(name)) };
}

/** Changes what an operation sends; an operation that sends nothing is removed. */
function setFlags(queue: OperationQueue, operation: MailOperation, flags: FlagChange): void {
  if (JSON.stringify(flags) === JSON.stringify(operation.flags)) return;
  if (flags.add.length + flags.remove.length === 0) queue.remove(operation);
  else queue.replace(operation, { flags });
}

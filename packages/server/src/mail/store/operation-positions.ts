/** Where the messages of an e-mail are on the mail server, or will be when waiting operations have been sent. */
import type { MailOperation } from '../../database/mail/operation-rows.ts';
import type { ServerPlacement } from '../../database/mail/server-placement-rows.ts';

/** A message on the mail server that belongs to a placement. */
export interface ServerMessagePosition {
  /** The placement that it is shown as; it may be in another mailbox already, where the move has not been sent. */
  readonly placement: ServerPlacement;
  /** Where the message is on the server now; for a running operation: where it will be. */
  readonly mailboxId: number | null;
  readonly uidvalidity: string | null;
  /** Null: not known yet. */
  readonly uid: number | null;
  /** What the server confirmed last; null: unknown. */
  readonly flags: readonly string[] | null;
  /** The operation that brings the message to the placement; null: it is there. */
  readonly operation: MailOperation | null;
}

/**
 * The message of a placement; null where the server does not have it, and no running operation brings it there. Flags of a
 * placement are null until the server has the message. A lost message is at its placement without a UID: operations on it wait
 * until it is found.
 */
export function findPosition(
  placement: ServerPlacement,
  operations: readonly MailOperation[],
): ServerMessagePosition | null {
  const { mailboxId, uidvalidity, uid, flags } = placement;
  if (uid !== null) return { placement, mailboxId, uidvalidity, uid, flags, operation: null };
  const operation = findBringing(placement, operations);
  const there = { mailboxId, uidvalidity: null, uid: null };
  // The server has received the message there without reporting its UID.
  if (!operation) return flags === null ? null : { placement, ...there, flags, operation: null };
  const isRunning = operation.status === 'running';
  const source = { mailboxId: operation.mailboxId, uidvalidity: operation.uidvalidity, uid: operation.uid };
  if (operation.kind === 'move') return { placement, ...(isRunning ? there : source), flags, operation };
  return isRunning ? { placement, ...there, flags: null, operation } : null;
}

/** The operation that brings a message to a placement: a move, or an append. */
export function findBringing(
  { emailId, mailboxId }: Pick<ServerPlacement, 'emailId' | 'mailboxId'>,
  operations: readonly MailOperation[],
): MailOperation | undefined {
  return operations.findLast(
    (each) =>
      each.emailId === emailId &&
      ((each.kind === 'move' && each.targetId === mailboxId) ||
        (each.kind === 'append' && each.mailboxId === mailboxId)),
  );
}

/**
 * Where the message of a placement is on the server now, through all moves that wait for each other: a message that is being moved from A
 * to B, and was moved on to C here, is at A, or at B as soon as the first move runs.
 */
export function findOrigin(
  placement: ServerPlacement,
  operations: readonly MailOperation[],
): ServerMessagePosition | null {
  let position = findPosition(placement, operations);
  for (;;) {
    const operation = position?.operation;
    if (!position || operation?.status !== 'queued' || operation.kind !== 'move' || operation.uid !== null)
      return position;
    const { id, emailId, mailboxId } = operation;
    const earlier = operations.findLast(
      (each) => each.id < id && each.kind === 'move' && each.emailId === emailId && each.targetId === mailboxId,
    );
    if (!earlier) return position;
    const isRunning = earlier.status === 'running';
    const { uidvalidity, uid } = earlier;
    const there = isRunning
      ? { mailboxId, uidvalidity: null, uid: null }
      : { mailboxId: earlier.mailboxId, uidvalidity, uid };
    position = { ...position, ...there, operation: earlier };
  }
}

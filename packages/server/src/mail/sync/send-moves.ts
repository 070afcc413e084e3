import type { DueOperation } from '../../database/mail/operation-rows.ts';
import { type SendContext, selectForGroup } from './operation-outcome.ts';
import { expungeMessages } from './send-deletions.ts';
import { CommandRefused, type SyncSession } from './sync-session.ts';
import { formatUidSet } from './uid-set.ts';

/**
 * Moves messages with MOVE, or with COPY and an expunge by UID. A message that is not in its mailbox any more was moved already: by an
 * earlier attempt, or by another program, whose mailbox then counts.
 */
export async function moveMessages(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  const { session, outcome } = context;
  const selected = await selectForGroup(context, group);
  if (!selected) return;
  let movable = group;
  const gone: DueOperation[] = [];
  for (let repeats = 0; ; repeats += 1) {
    const present = await session.findExisting(movable.flatMap(({ uid }) => uid ?? []));
    gone.push(...movable.filter(({ uid }) => !present.has(uid ?? 0)));
    movable = movable.filter(({ uid }) => present.has(uid ?? 0));
    if (movable.length === 0) break;
    try {
      await (session.has('MOVE') ? moveAll(context, movable) : copyAll(context, movable, repeats > 0));
      break;
    } catch (error) {
      // Another program has taken one of them since the search. The others are still to be moved.
      if (repeats === maxRepeats || !isSomeGone(error)) throw error;
    }
  }
  const lost: DueOperation[] = [];
  for (const each of gone) {
    const position = each.attempts > 0 ? await findMoved(context, each) : null;
    if (position) await outcome.complete(each, position);
    else lost.push(each);
  }
  await outcome.markGone(lost);
}

/** How often a command is repeated because some of its messages do not exist any more. */
const maxRepeats = 3;

function isSomeGone(error: unknown): boolean {
  return error instanceof CommandRefused && error.responseCode === 'EXPUNGEISSUED';
}

/**
 * Moves or copies messages of the selected mailbox.
 *
 * @throws CommandRefused if the server answers NO, also because some of the messages do not exist any more: the library takes that answer
 * for success, but Dovecot then moves and copies none of the messages.
 */
async function transfer(
  session: SyncSession,
  command: 'MOVE' | 'COPY',
  group: readonly DueOperation[],
): Promise<CopiedMessages> {
  const { client } = session;
  const set = formatUidSet(group.flatMap(({ uid }) => uid ?? []));
  const target = group[0]?.targetRawPath ?? '';
  let isRefused = false;
  const note = ({ response }: { response: string }): void => {
    isRefused = response.toUpperCase() !== 'OK';
  };
  client.on('response', note);
  try {
    const options = { uid: true };
    const result = await (command === 'MOVE'
      ? client.messageMove(set, target, options)
      : client.messageCopy(set, target, options));
    if (!result || isRefused) throw session.refuse(command);
    return result;
  } finally {
    client.off('response', note);
  }
}

/** Where an interrupted attempt has moved a message; null: it is not in the target. */
async function findMoved(
  { session, rawSource }: SendContext,
  { emailId, targetRawPath }: DueOperation,
): Promise<{ uidvalidity: string; uid: number } | null> {
  const message = emailId === null ? null : await rawSource.read(emailId);
  if (!message?.messageId || targetRawPath === null) return null;
  const { uidvalidity } = await session.select(targetRawPath);
  const found = await session.fetchIdentities(await session.searchMessageId(message.messageId));
  const uid = found.findLast(({ size }) => size === message.raw.length)?.uid;
  return uid === undefined ? null : { uidvalidity, uid };
}

async function moveAll({ session, outcome }: SendContext, group: readonly DueOperation[]): Promise<void> {
  const moved = await transfer(session, 'MOVE', group);
  const isConfirmed = (each: DueOperation): boolean => readPosition(moved, each).uid !== undefined;
  // Not every server reports where the messages are. A message that has not left its mailbox is moved again later.
  const unconfirmed = group.filter((each) => !isConfirmed(each)).flatMap(({ uid }) => uid ?? []);
  const left = await session.findExisting(unconfirmed);
  for (const each of group) if (!left.has(each.uid ?? 0)) await outcome.complete(each, readPosition(moved, each));
}

/** Without MOVE: what an interrupted or refused attempt has copied is not copied again. */
async function copyAll(context: SendContext, group: readonly DueOperation[], isRepeated: boolean): Promise<void> {
  const { session, outcome } = context;
  const [first] = group;
  if (!first) return;
  const copied = first.attempts > 0 || isRepeated ? await findCopies(context, group) : null;
  const rest = group.filter(({ uid }) => !copied?.uidMap.has(uid ?? 0));
  if (copied) await session.select(first.rawPath ?? '');
  const result = rest.length === 0 ? {} : await transfer(session, 'COPY', rest);
  const present = await session.findExisting(group.flatMap(({ uid }) => uid ?? []));
  if (present.size > 0) await expungeMessages(session, [...present]);
  const position = (each: DueOperation): Position => ({
    ...readPosition(result, each),
    ...readPosition(copied ?? {}, each),
  });
  for (const each of group) if (present.has(each.uid ?? 0)) await outcome.complete(each, position(each));
  for (const each of group) if (!present.has(each.uid ?? 0)) await settleTaken(context, each, position(each));
}

/**
 * Handles messages that another program has moved or deleted after they were copied. If such a message is in another
 * mailbox now, that move counts, and the copy is deleted. If it is nowhere else, the copy is the last one, and stays.
 * Only the position that COPYUID has named is deleted.
 */
async function settleTaken(context: SendContext, operation: DueOperation, position: Position): Promise<void> {
  const { session, outcome } = context;
  const { uidvalidity, uid } = position;
  if (uid === undefined || !session.has('UIDPLUS') || !(await isElsewhere(context, operation, position)))
    return outcome.complete(operation, position);
  const selected = await session.select(operation.targetRawPath ?? '');
  if (selected.uidvalidity !== uidvalidity) return outcome.complete(operation, position);
  await expungeMessages(session, [uid]);
  await outcome.markGone([operation]);
}

/** Whether the server has the same bytes at a position that the store does not know yet, besides the copy. */
async function isElsewhere(
  { session, rawSource, serverMail, operations, account }: SendContext,
  { emailId, targetId }: DueOperation,
  copy: Position,
): Promise<boolean> {
  const message = emailId === null ? null : await rawSource.read(emailId);
  if (!message?.messageId || emailId === null) return false;
  const known = await operations.readCopies([emailId]);
  for (const mailbox of (await serverMail.readMailboxes(account.id)).filter(({ selectable }) => selectable)) {
    const { uidvalidity } = await session.select(mailbox.rawPath ?? mailbox.path);
    const isKnown = (uid: number): boolean =>
      (mailbox.id === targetId && uid === copy.uid) ||
      known.some((each) => each.mailboxId === mailbox.id && each.uid === uid && each.uidvalidity === uidvalidity);
    const found = await session.fetchIdentities(await session.searchMessageId(message.messageId));
    for (const { uid } of found.filter((each) => each.size === message.raw.length && !isKnown(each.uid))) {
      const [stored] = await session.fetchMessages([uid]);
      if (stored && Buffer.compare(stored.raw, message.raw) === 0) return true;
    }
  }
  return false;
}

/** Where a message is; empty: not known. */
interface Position {
  readonly uidvalidity?: string;
  readonly uid?: number;
}

/** UIDs in the target by UIDs in the mailbox. */
interface CopiedMessages {
  readonly uidValidity?: bigint | undefined;
  readonly uidMap?: ReadonlyMap<number, number> | undefined;
}

/** Messages of a group that are in the target already, found by Message-ID and size. */
async function findCopies(
  { session }: SendContext,
  group: readonly DueOperation[],
): Promise<{ uidValidity: bigint; uidMap: ReadonlyMap<number, number> }> {
  const uidMap = new Map<number, number>();
  const [first] = group;
  const wanted = await session.fetchIdentities(group.flatMap(({ uid }) => uid ?? []));
  const { uidvalidity } = await session.select(first?.targetRawPath ?? '');
  for (const { uid, messageId, size } of wanted) {
    if (messageId === null) continue;
    const found = await session.fetchIdentities(await session.searchMessageId(messageId));
    const same = found.find((each) => each.size === size);
    if (same) uidMap.set(uid, same.uid);
  }
  return { uidValidity: BigInt(uidvalidity), uidMap };
}

function readPosition({ uidValidity, uidMap }: CopiedMessages, { uid }: DueOperation): Position {
  const moved = uidMap?.get(uid ?? 0);
  return moved === undefined || uidValidity === undefined ? {} : { uidvalidity: String(uidValidity), uid: moved };
}

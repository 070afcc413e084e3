import type { DueOperation } from '../../database/mail/operation-rows.ts';
import { type SendContext, selectForGroup } from './operation-outcome.ts';
import { expungeMessages } from './send-deletions.ts';
import { formatUidSet } from './uid-set.ts';

/**
 * Moves messages with MOVE, or with COPY and an expunge by UID. A message that is not in its mailbox any more was moved already: by an
 * earlier attempt, or by another program, whose mailbox then counts.
 */
export async function moveMessages(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  const { session, outcome } = context;
  const selected = await selectForGroup(context, group);
  if (!selected) return;
  const present = await session.findExisting(group.flatMap(({ uid }) => uid ?? []));
  const movable = group.filter(({ uid }) => present.has(uid ?? 0));
  if (movable.length > 0) await (session.has('MOVE') ? moveAll(context, movable) : copyAll(context, movable));
  const gone = group.filter(({ uid }) => !present.has(uid ?? 0));
  const lost: DueOperation[] = [];
  for (const each of gone) {
    const position = each.attempts > 0 ? await findMoved(context, each) : null;
    if (position) await outcome.complete(each, position);
    else lost.push(each);
  }
  await outcome.markGone(lost);
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
  const target = group[0]?.targetRawPath ?? '';
  const uids = group.flatMap(({ uid }) => uid ?? []);
  const moved = await session.client.messageMove(formatUidSet(uids), target, { uid: true });
  if (!moved) throw session.refuse('MOVE');
  for (const each of group) await outcome.complete(each, readPosition(moved, each));
}

/** Without MOVE: what an interrupted attempt has copied is not copied again. */
async function copyAll(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  const { session, outcome } = context;
  const [first] = group;
  if (!first) return;
  const target = first.targetRawPath ?? '';
  const copied = first.attempts > 0 ? await findCopies(context, group) : null;
  const rest = group.filter(({ uid }) => !copied?.uidMap.has(uid ?? 0));
  if (copied) await session.select(first.rawPath ?? '');
  const result =
    rest.length === 0
      ? null
      : await session.client.messageCopy(formatUidSet(rest.flatMap(({ uid }) => uid ?? [])), target, { uid: true });
  if (rest.length > 0 && !result) throw session.refuse('COPY');
  await expungeMessages(
    session,
    group.flatMap(({ uid }) => uid ?? []),
  );
  for (const each of group)
    await outcome.complete(each, { ...readPosition(result || {}, each), ...readPosition(copied ?? {}, each) });
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

function readPosition(
  { uidValidity, uidMap }: CopiedMessages,
  { uid }: DueOperation,
): { uidvalidity?: string; uid?: number } {
  const moved = uidMap?.get(uid ?? 0);
  return moved === undefined || uidValidity === undefined ? {} : { uidvalidity: String(uidValidity), uid: moved };
}

import type { Transaction } from '../../database/database.ts';
import {
  type ConversationStateRow,
  readConversationStates,
  settleFollowUp,
  settleState,
} from '../../database/mail/conversation-state-rows.ts';
import { findMembers } from '../../database/mail/note-rows.ts';
import { invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { AfterWrite, Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { createPartRules } from '../rules/part-rules.ts';
import { toMailTransaction } from '../store/mail-transaction.ts';
import { getUserId, notifyUsers } from './notifications.ts';

const partRules = createPartRules({
  resource: 'conversations',
  writable: ['state', 'snoozedUntil', 'muted', 'assigneeId', 'assignee', 'followUpAt'],
  createCure: 'Conversations are created by the server, from the e-mails in them.',
  updateCure:
    'Only "state", "snoozedUntil", "followUpAt", "muted" and "assigneeId" can be changed; the rest comes from the e-mails and notes.',
  destroyCure: 'A conversation is deleted with its e-mails. Destroy those instead.',
});

/** Conversations are created from their e-mails; members of their account set the state, and who is responsible. */
export const conversationRules: RecordRules = {
  ...partRules,
  // A member may assign other members, whether or not the role may read users.
  checkedReferences: ['assigneeId'],

  async prepare(body, key, context): Promise<PreparedBody> {
    const prepared = await partRules.prepare?.(body, key, context);
    if (!prepared || !isObject(prepared.body)) return { body: body as Body };
    const now = context.clock.now();
    const changed = prepareFollowUp(prepareState(prepared.body, now), now);
    const [hasState, hasFollowUp] = ['state' in changed, 'followUpAt' in changed];
    if (!hasState && !hasFollowUp) return { ...prepared, body: changed };
    const afterWrite = async (transaction: Transaction, id: unknown): Promise<readonly string[]> => {
      const stamp = { time: context.clock.now(), user: getUserId(context) };
      if (hasState) await settleState(context.database, transaction, id as number, stamp);
      if (hasFollowUp) await settleFollowUp(context.database, transaction, id as number, stamp.user);
      return [
        ...(hasState ? ['snoozedUntil', 'snoozedById', 'closedAt', 'resolutionSeconds'] : []),
        ...(hasFollowUp ? ['followUpById'] : []),
      ];
    };
    return { ...prepared, body: changed, afterWrite };
  },

  async guard(write): Promise<AfterWrite> {
    const { transaction, keys, body, context } = write;
    await partRules.guard?.(write);
    const before = await readConversationStates(context.database, transaction, keys);
    const assignee = readAssignee(body);
    if (assignee !== null) await requireMember(context, transaction, before, assignee);
    return () => finishUpdate(context, transaction, before);
  },
};

/** State and end of a snooze belong together: naming the end snoozes, and any other state removes it. */
function prepareState(body: Body, now: number): Body {
  const { state, snoozedUntil, ...rest } = body;
  if (state === undefined && snoozedUntil === undefined) return body;
  if (state === undefined || state === 'snoozed')
    return { ...rest, state: 'snoozed', snoozedUntil: parseSnoozeEnd(snoozedUntil, now) };
  if (snoozedUntil == null) return { ...rest, state };
  throw invalidValues({ snoozedUntil: 'Omit "snoozedUntil", or set "state" to "snoozed".' });
}

/** @throws ApiError 422 for anything but a time in the future. */
function parseSnoozeEnd(input: unknown, now: number): string {
  return parseReturn(input, now, 'snoozedUntil', 'the conversation returns');
}

/** Null removes the reminder. @throws ApiError 422 for anything else but a time in the future. */
function prepareFollowUp(body: Body, now: number): Body {
  const { followUpAt } = body;
  if (followUpAt === undefined || followUpAt === null) return body;
  return { ...body, followUpAt: parseReturn(followUpAt, now, 'followUpAt', 'you are reminded') };
}

function parseReturn(input: unknown, now: number, field: string, what: string): string {
  const time = typeof input === 'string' && /^\d{4}-\d\d-\d\dT/.test(input) ? Date.parse(input) : Number.NaN;
  if (time > now && time <= now + mailLimits.snoozeMilliseconds) return new Date(time).toISOString();
  throw invalidValues({
    [field]: `Give the time at which ${what}, in ISO 8601, such as ${new Date(now + 86_400_000).toISOString()}. It must be in the future, at most five years ahead.`,
  });
}

/** The user whom a body assigns, by the foreign key or by the relation; null: none. */
function readAssignee(body: Body | null): number | null {
  const given = body?.['assigneeId'] ?? body?.['assignee'] ?? null;
  const id = isObject(given) ? given['id'] : given;
  return id === null ? null : Number(id);
}

/** @throws ApiError 422 for a user who is no member of the accounts, and so could not see the conversations. */
async function requireMember(
  { database }: RecordContext,
  transaction: Transaction,
  rows: readonly ConversationStateRow[],
  user: number,
): Promise<void> {
  // An assignee who has left the account stays until somebody else is named.
  const changed = rows.filter(({ assigneeId }) => assigneeId !== user);
  for (const account of new Set(changed.map(({ accountId }) => accountId))) {
    const members = Number.isSafeInteger(user) ? await findMembers(database, transaction, account, [user]) : new Set();
    if (!members.has(user)) throw invalidValues({ assigneeId: 'Name a user who is a member of the account.' });
  }
}

/** Notifies new assignees, and plans the end of snoozes. */
async function finishUpdate(
  context: RecordContext,
  transaction: Transaction,
  before: readonly ConversationStateRow[],
): Promise<void> {
  const keys = before.map(({ id }) => id);
  const after = await readConversationStates(context.database, transaction, keys);
  const assignees = new Map(before.map(({ id, assigneeId }) => [id, assigneeId]));
  const actorId = getUserId(context);
  await notifyUsers(
    toMailTransaction(context, transaction),
    after.flatMap(({ id, accountId, assigneeId }) =>
      assigneeId === null || assigneeId === assignees.get(id) || assigneeId === actorId
        ? []
        : [{ accountId, userId: assigneeId, kind: 'assignment' as const, conversationId: id, noteId: null, actorId }],
    ),
  );
  if (after.some(({ state, followUpAt }) => state === 'snoozed' || followUpAt !== null))
    transaction.afterDurable(() => context.mail.wakeSnoozes());
}

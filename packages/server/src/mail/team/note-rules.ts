import type { Transaction } from '../../database/database.ts';
import {
  belongingTables,
  findMembers,
  moveBelongings,
  type NoteRow,
  readConversationAccount,
  readNotes,
  recountNotes,
} from '../../database/mail/note-rows.ts';
import { createTxRunner } from '../../database/run-statement.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { AfterWrite, Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { toMailTransaction } from '../store/mail-transaction.ts';
import { getUserId, notifyUsers } from './notifications.ts';

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set(['accountId', 'account', 'authorId', 'author', 'createdAt', 'updatedAt']);

/**
 * Notes are written by members of the account, in their own name. Only the author changes a note; the author and administrators
 * destroy it.
 */
export const noteRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const row: Record<string, unknown> = Object.fromEntries(
      Object.entries(body).filter(([name]) => !serverManaged.has(name)),
    );
    const isNew = key === null;
    if (!isNew && ('conversationId' in row || 'conversation' in row))
      throw new ApiError('SYSTEM_PROTECTED', 'A note stays in its conversation; leave "conversationId" out.');
    checkText(row, isNew);
    if (row['mentions'] !== undefined) row['mentions'] = parseMentions(row['mentions']);
    return {
      body: row,
      ...(isNew && { serverValues: await readServerValues(context, row) }),
      afterWrite: (transaction, id) => finishNote(context, transaction, id as number, isNew),
    };
  },

  async guard({ transaction, action, keys, context }): Promise<AfterWrite> {
    const notes = await readNotes(context.database, transaction, keys);
    requireAuthor(context, notes, action);
    return async () => {
      if (action === 'destroy') await countNotes(context, transaction, notes);
    };
  },
};

/** The author, and the account of the conversation. Whether the caller may see that conversation is checked with the row. */
async function readServerValues(context: RecordContext, { conversationId }: Body): Promise<Body> {
  const authorId = getUserId(context);
  if (authorId === null)
    throw new ApiError('NO_PERMISSION', 'A note has an author, and this credential belongs to no user.');
  if (!Number.isSafeInteger(conversationId))
    throw invalidValues({ conversationId: 'Name the conversation by its id.' });
  return { authorId, accountId: await readConversationAccount(context.database, conversationId as number) };
}

function checkText(row: Record<string, unknown>, isNew: boolean): void {
  const { text } = row;
  if (text === undefined && !isNew) return;
  if (typeof text !== 'string' || text.trim() === '' || text.length > mailLimits.noteLength)
    throw invalidValues({ text: `Give a text of 1 to ${mailLimits.noteLength} characters.` });
}

/** The ids of mentioned users, each once; null for none. */
function parseMentions(input: unknown): readonly number[] | null {
  if (input === null) return null;
  const isKey = (id: unknown): boolean => Number.isSafeInteger(id) && (id as number) > 0;
  if (!Array.isArray(input) || input.length > mailLimits.mentions || !input.every(isKey))
    throw invalidValues({ mentions: `Give a list of at most ${mailLimits.mentions} ids of users, such as [2, 5].` });
  return input.length === 0 ? null : [...new Set(input as number[])];
}

/** @throws ApiError `NO_PERMISSION` for a note of somebody else. */
function requireAuthor(context: RecordContext, notes: readonly NoteRow[], action: 'update' | 'destroy'): void {
  const user = getUserId(context);
  const isModerator = action === 'destroy' && context.access.roles.get(context.caller.role)?.allowConfigure === true;
  if (isModerator || notes.every(({ authorId }) => authorId !== null && authorId === user)) return;
  throw new ApiError(
    'NO_PERMISSION',
    action === 'update'
      ? 'Only the author may change a note.'
      : 'Only the author and administrators may destroy a note.',
  );
}

/** Counts the note, and notifies the users whom it mentions. @returns the fields that were changed. */
async function finishNote(
  context: RecordContext,
  transaction: Transaction,
  id: number,
  isNew: boolean,
): Promise<readonly string[]> {
  const { database } = context;
  const [note] = await readNotes(database, transaction, [id]);
  if (!note) throw new Error(`note ${id} was written and then not found`);
  await notifyMentioned(context, transaction, note);
  if (!isNew) return [];
  const into = (await countNotes(context, transaction, [note])).get(note.conversationId);
  if (into === undefined) return [];
  // The conversation was merged into another one meanwhile.
  for (const table of belongingTables) transaction.touch(table);
  await moveBelongings(database, createTxRunner(database, transaction), [note.conversationId], into);
  await emitMailEvent(context, transaction, { name: 'conversations.updated', keys: [into], changed: ['notes'] });
  return ['conversationId'];
}

/** @throws ApiError 422 for a user who is no member of the account, and so could not see the note. */
async function notifyMentioned(context: RecordContext, transaction: Transaction, note: NoteRow): Promise<void> {
  const { accountId, conversationId, id: noteId, mentions } = note;
  if (mentions.length === 0) return;
  const members = await findMembers(context.database, transaction, accountId, mentions);
  const details: Record<string, string> = {};
  for (const [index, user] of mentions.entries())
    if (!members.has(user)) details[`mentions.${index}`] = 'Name a user who is a member of the account.';
  if (Object.keys(details).length > 0) throw invalidValues(details);
  const actorId = getUserId(context);
  await notifyUsers(
    toMailTransaction(context, transaction),
    mentions
      .filter((userId) => userId !== actorId)
      .map((userId) => ({ accountId, userId, kind: 'mention' as const, conversationId, noteId, actorId })),
  );
}

async function countNotes(
  context: RecordContext,
  transaction: Transaction,
  notes: readonly NoteRow[],
): Promise<ReadonlyMap<number, number>> {
  const keys = [...new Set(notes.map(({ conversationId }) => conversationId))];
  const merged = await recountNotes(context.database, transaction, keys);
  await emitMailEvent(context, transaction, { name: 'conversations.updated', keys, changed: ['notes'] });
  return merged;
}

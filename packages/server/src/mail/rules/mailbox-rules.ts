import type { Transaction } from '../../database/database.ts';
import { readMailboxAccount, readMailboxes } from '../../database/mail/account-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { isMailboxPath, mailboxPathDescription } from '../collections/mailbox-path.ts';
import { isMailboxRole } from '../collections/mailbox-roles.ts';
import { updateConversations } from '../store/mail-changes.ts';
import { emitMailEvent } from '../store/mail-events.ts';

/** Counted by the server, or told by the account's own server. */
const serverManaged = new Set(['messages', 'unread', 'uidvalidity', 'uidnext', 'highestmodseq']);

/** Mailboxes may be made, renamed and, when they are empty, destroyed. */
export const mailboxRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,
  heavy: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const row = Object.fromEntries(Object.entries(body).filter(([name]) => !serverManaged.has(name)));
    if (key !== null && ('accountId' in row || 'account' in row))
      throw new ApiError('SYSTEM_PROTECTED', 'A mailbox stays in its account.');
    if (typeof row['path'] === 'string' && !isMailboxPath(row['path']))
      throw invalidValues({ path: `Give ${mailboxPathDescription}.` });
    return {
      body: row,
      afterWrite: (transaction, id) => checkAndRename(context, transaction, id as number, key === null),
    };
  },

  async guard(transaction, action, keys, _body, { database }): Promise<void> {
    if (action === 'update') return;
    if ((await new EmailRows(database, transaction).countInMailboxes(keys)) > 0)
      throw new ApiError('DEPENDANTS_EXIST', 'There are e-mails in the mailbox; move or destroy them first.');
  },
};

/**
 * Holds a mailbox against the others of its account, and tells its e-mails how it is called now.
 *
 * @throws ApiError 409 for a role that another one has, 422 for a path that would be taken for a role.
 */
async function checkAndRename(
  context: RecordContext,
  transaction: Transaction,
  id: number,
  isNew: boolean,
): Promise<void> {
  const { database } = context;
  const all = await readMailboxes(database, await readMailboxAccount(database, transaction, id), transaction);
  const { path, role } = all.find((each) => each.id === id)!;
  const other = all.find((each) => each.id !== id && role !== null && each.role === role);
  if (other)
    throw new ApiError('UNIQUE_CONFLICT', `"${other.path}" has the role ${role} already; take it from there first.`);
  if (isMailboxRole(path) && path !== role)
    throw invalidValues({ path: `"${path}" is the name of a role; give the mailbox that role, or another path.` });
  if (isNew) return;
  const folder = role ?? path;
  const rows = new EmailRows(database, transaction);
  const { emails, before } = await rows.renameFolder(id, folder);
  const relocated = await rows.updateSharedPlacements(id);
  await emitMailEvent(context, transaction, {
    name: 'emails.updated',
    keys: relocated,
    changed: ['mailboxId', 'folder'],
  });
  const ids = emails.map((each) => each.id);
  await emitMailEvent(context, transaction, { name: 'emails.updated', keys: ids, changed: ['folder'] });
  // Conversations do not count e-mails in the trash.
  if ((before === 'trash') !== (folder === 'trash')) await updateConversations(context, transaction, emails);
}

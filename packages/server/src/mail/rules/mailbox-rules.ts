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

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set(['messages', 'unread', 'uidvalidity', 'uidnext', 'highestmodseq']);

/** Mailboxes can be created and renamed, and destroyed when they are empty. */
export const mailboxRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,
  heavy: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const row = Object.fromEntries(Object.entries(body).filter(([name]) => !serverManaged.has(name)));
    if (key !== null && ('accountId' in row || 'account' in row))
      throw new ApiError('SYSTEM_PROTECTED', 'The account of a mailbox cannot be changed; leave "accountId" out.');
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
      throw new ApiError('DEPENDANTS_EXIST', 'The mailbox contains e-mails. Move or destroy them first.');
  },
};

/**
 * Checks a mailbox against the others of its account, and updates the folder of its e-mails.
 *
 * @throws ApiError `UNIQUE_CONFLICT` for a role that another mailbox has, 422 for a path that is the name of a role.
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
    throw new ApiError(
      'UNIQUE_CONFLICT',
      `The mailbox "${other.path}" already has the role ${role}. Remove the role there first.`,
    );
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

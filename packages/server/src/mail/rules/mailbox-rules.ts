import type { Transaction } from '../../database/database.ts';
import { readMailboxAccount, readMailboxes } from '../../database/mail/account-rows.ts';
import { readAccountServers } from '../../database/mail/account-server-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { type MailboxRow, readMailboxRow } from '../../database/mail/mailbox-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { isMailboxPath, mailboxPathDescription } from '../collections/mailbox-path.ts';
import { isMailboxRole } from '../collections/mailbox-roles.ts';
import { updateConversations } from '../store/mail-changes.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { type MailTransaction, toMailTransaction } from '../store/mail-transaction.ts';
import {
  moveContainedMailboxes,
  queueMailboxCreation,
  queueMailboxDeletion,
  queueMailboxRename,
} from '../store/mailbox-operations.ts';

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set([
  'messages',
  'unread',
  'uidvalidity',
  'uidnext',
  'highestmodseq',
  'delimiter',
  'rawPath',
  'selectable',
]);

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
    const isNew = key === null;
    return {
      body: row,
      afterWrite: async (transaction, id) => {
        await checkAndRename({ ...context, tx: transaction }, id as number, isNew);
        if (isNew) await sendNewMailbox(context, transaction, id as number);
      },
    };
  },

  async guard({ transaction, action, keys, body, context }) {
    const { database } = context;
    const mail = toMailTransaction(context, transaction);
    const before = await readServerMailboxes(mail, keys as readonly number[]);
    if (action === 'update') {
      if (body?.['path'] === undefined) return doNothing;
      return async () => {
        for (const each of before) await renameMailbox(mail, each);
      };
    }
    if ((await new EmailRows(database, transaction).countInMailboxes(keys)) > 0)
      throw new ApiError('DEPENDANTS_EXIST', 'The mailbox contains e-mails. Move or destroy them first.');
    for (const each of before) {
      refuseInbox(each);
      await queueMailboxDeletion(mail, each);
    }
    return doNothing;
  },
};

const doNothing = async (): Promise<void> => {};

/** The mailboxes among these whose accounts have a mail server. */
async function readServerMailboxes(mail: MailTransaction, keys: readonly number[]): Promise<MailboxRow[]> {
  const rows: MailboxRow[] = [];
  for (const key of keys) {
    const row = await readMailboxRow(mail.database, mail.transaction, key);
    if (row) rows.push(row);
  }
  const accounts = [...new Set(rows.map(({ accountId }) => accountId))];
  const servers = await readAccountServers(mail.database, mail.transaction, accounts);
  return rows.filter(({ accountId }) => servers.has(accountId));
}

async function sendNewMailbox(context: RecordContext, transaction: Transaction, id: number): Promise<void> {
  const mail = toMailTransaction(context, transaction);
  for (const { accountId } of await readServerMailboxes(mail, [id])) await queueMailboxCreation(mail, accountId, id);
}

/** The mail server also renames the mailboxes in the renamed one, so their paths change here too. */
async function renameMailbox(mail: MailTransaction, before: MailboxRow): Promise<void> {
  const after = await readMailboxRow(mail.database, mail.transaction, before.id);
  if (!after || after.path === before.path) return;
  refuseInbox(before);
  await queueMailboxRename(mail, after, before.path);
  await moveContainedMailboxes(mail, before, after.path);
}

/** @throws ApiError `SYSTEM_PROTECTED` for the inbox: RFC 3501 keeps it, and moves its messages when it is renamed. */
function refuseInbox({ role, rawPath }: MailboxRow): void {
  if (role === 'inbox' && rawPath !== null)
    throw new ApiError('SYSTEM_PROTECTED', 'The inbox of a mail server cannot be renamed or deleted.');
}

/**
 * Checks a mailbox against the others of its account, and updates the folder of its e-mails.
 *
 * @throws ApiError `UNIQUE_CONFLICT` for a role that another mailbox has, 422 for a path that is the name of a role.
 */
async function checkAndRename(context: TransactionContext, id: number, isNew: boolean): Promise<void> {
  const { database, tx: transaction } = context;
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

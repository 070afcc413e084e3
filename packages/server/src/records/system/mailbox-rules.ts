import { readMailbox } from '../../database/mail/account-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';

/** Counted by the server, or told by the account's own server. */
const told = new Set(['messages', 'unread', 'uidvalidity', 'uidnext', 'highestmodseq']);

/** Mailboxes may be made, renamed and, when they are empty, destroyed. */
export const mailboxRules: RecordRules = {
  access: false,
  everyday: true,
  heavy: true,

  async prepare(body, key, { database }): Promise<RuledBody> {
    if (!isObject(body)) return { body: body as Body };
    const row = Object.fromEntries(Object.entries(body).filter(([name]) => !told.has(name)));
    if (key !== null && ('accountId' in row || 'account' in row))
      throw new ApiError('SYSTEM_PROTECTED', 'A mailbox stays in its account.');
    return {
      body: row,
      beside: async (transaction, id) => {
        if (key === null) return;
        const { path, role } = await readMailbox(database, transaction, id as number);
        await new EmailRows(database, transaction).renameFolder(id as number, role ?? path);
      },
    };
  },

  async guard(transaction, action, keys, _body, { database }): Promise<void> {
    if (action === 'update') return;
    if ((await new EmailRows(database, transaction).inMailboxes(keys)) > 0)
      throw new ApiError('DEPENDANTS_EXIST', 'There are e-mails in the mailbox; move or destroy them first.');
  },
};

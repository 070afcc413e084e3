import { useMemo } from 'react';
import { type Schema, useSchema } from '../data/schema.ts';

/** What the role may do with mail. */
export interface MailRights {
  /** Set flags such as read and starred. */
  readonly mark: boolean;
  readonly move: boolean;
  readonly destroy: boolean;
  /** Write and send messages. */
  readonly write: boolean;
  /** Set the state and the assignee of conversations. */
  readonly team: boolean;
  /** Write internal notes. */
  readonly note: boolean;
  readonly importMail: boolean;
  readonly exportMail: boolean;
  readonly addAccounts: boolean;
  readonly changeAccounts: boolean;
  readonly destroyAccounts: boolean;
  readonly addFolders: boolean;
  readonly changeFolders: boolean;
  readonly destroyFolders: boolean;
}

const actions: Readonly<Record<keyof MailRights, readonly [resource: string, action: string]>> = {
  mark: ['emails', 'batchUpdate'],
  move: ['emails', 'move'],
  destroy: ['emails', 'destroy'],
  write: ['emails', 'saveDraft'],
  team: ['conversations', 'update'],
  note: ['conversationNotes', 'create'],
  importMail: ['emails', 'import'],
  exportMail: ['emails', 'export'],
  addAccounts: ['accounts', 'create'],
  changeAccounts: ['accounts', 'update'],
  destroyAccounts: ['accounts', 'destroy'],
  addFolders: ['mailboxes', 'create'],
  changeFolders: ['mailboxes', 'update'],
  destroyFolders: ['mailboxes', 'destroy'],
};

/** The permissions of the role; null while they are unknown. */
export function useMailRights(): MailRights | null {
  const { data: schema } = useSchema();
  return useMemo(
    () =>
      schema
        ? ({
            ...Object.fromEntries(
              Object.entries(actions).map(([right, [resource, action]]) => [right, schema.may(resource, action)]),
            ),
            addAccounts: mayAddAccounts(schema),
          } as unknown as MailRights)
        : null,
    [schema],
  );
}

/** Creating an account needs its address, and the page of the new account is opened afterwards. */
function mayAddAccounts({ may, mayWrite }: Schema): boolean {
  return mayWrite('accounts', 'create', 'address') && may('accounts', 'list') && may('accounts', 'get');
}

/** Used while the permissions are unknown. */
export const noRights: MailRights = {
  mark: false,
  move: false,
  destroy: false,
  write: false,
  team: false,
  note: false,
  importMail: false,
  exportMail: false,
  addAccounts: false,
  changeAccounts: false,
  destroyAccounts: false,
  addFolders: false,
  changeFolders: false,
  destroyFolders: false,
};

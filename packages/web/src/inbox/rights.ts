import { useMemo } from 'react';
import { type Schema, useSchema } from '../data/schema.ts';

/** What the role may do with mail. */
export interface MailRights {
  /** Set flags. */
  readonly mark: boolean;
  readonly move: boolean;
  readonly destroy: boolean;
  /** Write messages, and send them. */
  readonly write: boolean;
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
  importMail: ['emails', 'import'],
  exportMail: ['emails', 'export'],
  addAccounts: ['accounts', 'create'],
  changeAccounts: ['accounts', 'update'],
  destroyAccounts: ['accounts', 'destroy'],
  addFolders: ['mailboxes', 'create'],
  changeFolders: ['mailboxes', 'update'],
  destroyFolders: ['mailboxes', 'destroy'],
};

/** Null until it is known: then nothing is offered yet that would be taken away again. */
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

/** An account has an address, and its page is opened once it is there. */
function mayAddAccounts({ may, mayWrite }: Schema): boolean {
  return mayWrite('accounts', 'create', 'address') && may('accounts', 'list') && may('accounts', 'get');
}

/** While nobody knows. */
export const noRights: MailRights = {
  mark: false,
  move: false,
  destroy: false,
  write: false,
  importMail: false,
  exportMail: false,
  addAccounts: false,
  changeAccounts: false,
  destroyAccounts: false,
  addFolders: false,
  changeFolders: false,
  destroyFolders: false,
};

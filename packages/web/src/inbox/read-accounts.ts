import type { CallerInfo, Client, ListMeta } from '@tablinum/client';
import type { Account } from './mail-types.ts';

/** The accounts, split into those whose mail the user can see and those that an administrator can only manage. */
export interface Accounts {
  readonly ownAccounts: readonly Account[];
  readonly otherAccounts: readonly Account[];
}

/** All of them, over all pages. */
export async function readAccounts(
  client: Client,
  { id, currentRole }: Pick<CallerInfo, 'id' | 'currentRole'>,
): Promise<Accounts> {
  const isAdministrator = currentRole === 'admin';
  const baseQuery = {
    appends: ['mailboxes', ...(isAdministrator ? ['members'] : [])],
    pageSize: 200,
    sort: ['id'],
    count: 'none',
  } as const;
  const all: AccountWithMembers[] = [];
  let after: string | null = null;
  do {
    const query: object = { ...baseQuery, ...(after !== null && { after }) };
    const { data, meta } = await client.call<AccountWithMembers[], ListMeta>('accounts:list', { query });
    all.push(...data);
    after = meta.nextCursor;
  } while (after !== null);
  const isOwn = ({ ownerId, members }: AccountWithMembers): boolean =>
    !isAdministrator || ownerId === id || (members ?? []).some((each) => each.id === id);
  return { ownAccounts: all.filter(isOwn), otherAccounts: all.filter((each) => !isOwn(each)) };
}

type AccountWithMembers = Account & { readonly members?: readonly { readonly id: number }[] };

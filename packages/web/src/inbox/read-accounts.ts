import type { Check, Client, ListMeta } from '@tablinum/client';
import type { Account } from './mail.ts';

/** Accounts by whose mail the user sees; an administrator sees others too, without their mail. */
export interface Accounts {
  readonly mine: readonly Account[];
  readonly others: readonly Account[];
}

/** All of them, however many. */
export async function readAccounts(
  client: Client,
  { id, currentRole }: Pick<Check, 'id' | 'currentRole'>,
): Promise<Accounts> {
  const administers = currentRole === 'admin';
  const asked = {
    appends: ['mailboxes', ...(administers ? ['members'] : [])],
    pageSize: 200,
    sort: ['id'],
    count: 'none',
  } as const;
  const all: AccountWithMembers[] = [];
  let after: string | null = null;
  do {
    const query: object = { ...asked, ...(after !== null && { after }) };
    const { data, meta } = await client.call<AccountWithMembers[], ListMeta>('accounts:list', { query });
    all.push(...data);
    after = meta.nextCursor;
  } while (after !== null);
  const isMine = ({ ownerId, members }: AccountWithMembers): boolean =>
    !administers || ownerId === id || (members ?? []).some((each) => each.id === id);
  return { mine: all.filter(isMine), others: all.filter((each) => !isMine(each)) };
}

type AccountWithMembers = Account & { readonly members?: readonly { readonly id: number }[] };

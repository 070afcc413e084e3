import { getClient } from '../data/application.tsx';
import { resumeSession } from '../data/browser-session.ts';
import { fetchCheck, queryClient, type Scope } from '../data/queries.ts';
import { session } from '../data/session.ts';
import type { InboxSearch } from './inbox-search.ts';
import { forgetFirstPage, startFirstPage } from './list/first-page.ts';
import { readAccounts } from './read-accounts.ts';

session.watch(forgetFirstPage);

/**
 * Requests what the inbox shows first, while its modules are loaded and the frame of the page is rendered. Errors are shown by the
 * page, which requests the same again.
 */
export async function preloadInbox(application: string, { c: _conversation, ...view }: InboxSearch): Promise<void> {
  if (session.state(application) === 'unknown') await resumeSession(application);
  if (session.state(application) !== 'valid') return;
  const role = session.role(application);
  const scope: Scope = [application, role];
  const client = getClient(application);
  startFirstPage({ client, role, view });
  const check = await fetchCheck(scope);
  await queryClient.prefetchQuery({
    queryKey: [...scope, ...listAccountsKey(check)],
    queryFn: () => readAccounts(client, check),
  });
}

/** The key of the query of the accounts. */
export function listAccountsKey(check: { readonly id: number | null; readonly currentRole: string } | undefined) {
  return ['mail-accounts', check?.id, check?.currentRole] as const;
}

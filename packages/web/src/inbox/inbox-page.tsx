/** The inbox; for users without a mail account a hint how to get one. */
import type { ReactNode } from 'react';
import { useApplication } from '../data/application.tsx';
import { QueryBoundary } from '../data/problem.tsx';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { Icon } from '../ui/icon.tsx';
import { ButtonLink } from '../ui/links.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { Inbox } from './inbox.tsx';
import { useAccounts } from './mail-queries.ts';
import { useMailRights } from './rights.ts';

export function InboxPage(): ReactNode {
  const accounts = useAccounts();
  return (
    <QueryBoundary query={accounts} permission={{ resource: 'accounts', action: 'list' }}>
      {({ ownAccounts, otherAccounts }) =>
        ownAccounts.length === 0 ? (
          <NoAccount otherAccountCount={otherAccounts.length} />
        ) : (
          <Inbox accounts={ownAccounts} />
        )
      }
    </QueryBoundary>
  );
}

/** @param otherAccountCount the number of accounts that the user can manage without being a member. */
function NoAccount({ otherAccountCount }: { otherAccountCount: number }): ReactNode {
  const t = useInboxTexts();
  const app = useApplication();
  const rights = useMailRights();
  return (
    <Page title={t.title}>
      <Empty
        icon="inbox"
        title={t.empty.noAccount}
        text={rights?.addAccounts === false ? t.empty.noAccountReader : t.empty.noAccountText}
      >
        {rights?.addAccounts && (
          <ButtonLink to="/a/$app/inbox/accounts/new" params={{ app }} leftSection={<Icon name="plus" />}>
            {t.accounts.add}
          </ButtonLink>
        )}
        {otherAccountCount > 0 && (
          <ButtonLink to="/a/$app/inbox/accounts" params={{ app }} variant="default">
            {t.accounts.accountsOfOthers(otherAccountCount)}
          </ButtonLink>
        )}
      </Empty>
    </Page>
  );
}

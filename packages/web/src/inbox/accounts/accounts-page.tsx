import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { useAccounts } from '../mail-queries.ts';
import type { Account } from '../mail-types.ts';
import type { Accounts } from '../read-accounts.ts';
import { useMailRights } from '../rights.ts';
import { useAccountEvents } from './account-data.ts';
import { StatusBadge } from './status-badge.tsx';

/** The list of mail accounts. Administrators also see the accounts of others. */
export function AccountsPage(): ReactNode {
  const t = useInboxTexts().accounts;
  const app = useApplication();
  const accounts = useAccounts();
  const rights = useMailRights();
  useAccountEvents();
  const add = rights?.addAccounts && (
    <ButtonLink to="/a/$app/inbox/accounts/new" params={{ app }} leftSection={<Icon name="plus" />}>
      {t.add}
    </ButtonLink>
  );
  const above = (
    <TextLink to="/a/$app/inbox" params={{ app }}>
      {t.backToInbox}
    </TextLink>
  );
  return (
    <Page title={t.title} description={t.description} above={above} actions={add}>
      <QueryBoundary query={accounts} permission={{ resource: 'accounts', action: 'list' }}>
        {(all) =>
          all.ownAccounts.length + all.otherAccounts.length === 0 ? (
            <Empty icon="inbox" title={t.none} text={t.noneText}>
              {add}
            </Empty>
          ) : (
            <AccountTable accounts={all} />
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function AccountTable({ accounts: { ownAccounts, otherAccounts } }: { accounts: Accounts }): ReactNode {
  const t = useInboxTexts().accounts;
  const app = useApplication();
  return (
    <ListTable<Account>
      label={t.title}
      rows={[...ownAccounts, ...otherAccounts]}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t.columns.address,
          render: ({ id, address }) => (
            <Group gap="xs">
              <TextLink to="/a/$app/inbox/accounts/$account" params={{ app, account: String(id) }}>
                <LongText isAddress>{address}</LongText>
              </TextLink>
              {otherAccounts.some((each) => each.id === id) && (
                <Badge variant="light" color="gray" tt="none">
                  {t.notMember}
                </Badge>
              )}
            </Group>
          ),
        },
        { title: t.columns.name, render: ({ name }) => name && <LongText width={100}>{name}</LongText> },
        { title: t.columns.status, render: ({ status }) => <StatusBadge status={status} /> },
        {
          title: t.columns.problem,
          render: ({ problem }) =>
            problem && (
              <Text size="sm" component="div">
                <LongText width={220}>{problem.message}</LongText>
              </Text>
            ),
        },
        { title: t.columns.folders, number: true, render: ({ mailboxes }) => mailboxes.length },
      ]}
    />
  );
}

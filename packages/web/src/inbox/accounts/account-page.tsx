import { Alert, Badge, Button, Stack } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useCheck } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useAccounts } from '../mail-queries.ts';
import { noRights, useMailRights } from '../rights.ts';
import { type AccountRecord, accountKeys, useAccount, useMembers } from './account-data.ts';
import { AccountForm } from './account-form.tsx';
import { ExportSection } from './export-section.tsx';
import { FoldersSection } from './folders-section.tsx';
import { ImportSection } from './import-section.tsx';

/** The page of one mail account: import, export, folders, servers and members. */
export function MailAccountPage(): ReactNode {
  const t = useInboxTexts().accounts;
  const app = useApplication();
  const { account: id = '' } = useParams({ strict: false });
  const account = useAccount(Number(id));
  const above = (
    <TextLink to="/a/$app/inbox/accounts" params={{ app }}>
      {t.all}
    </TextLink>
  );
  const { data } = account;
  return (
    <Page
      title={data ? data.name || data.address : id}
      above={above}
      description={
        data && (
          <>
            {data.name && `${data.address} `}
            <Badge variant="light" color="gray" tt="none">
              {t.statuses[data.status] ?? data.status}
            </Badge>
          </>
        )
      }
    >
      <QueryBoundary query={account} permission={{ resource: 'accounts', action: 'get' }}>
        {(loaded) => <Content key={loaded.id} account={loaded} />}
      </QueryBoundary>
    </Page>
  );
}

function Content({ account }: { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().accounts;
  const rights = useMailRights() ?? noRights;
  const otherAccounts = useAccounts().data?.otherAccounts ?? [];
  const members = useMembers(account.id);
  /** Changes after every save, so that the form starts again with the stored values and without secrets. */
  const [form, setForm] = useState({ saves: 0, account });
  const save = useApiMutation<AccountRecord, Record<string, unknown>>({
    write: (client, values) => client.post('accounts:update', values, { filterByTk: account.id }),
    changes: accountKeys,
    done: (saved) => {
      setForm(({ saves }) => ({ saves: saves + 1, account: { ...account, ...saved } }));
      toast(t.saved);
    },
  });
  const isMember = otherAccounts.every(({ id }) => id !== account.id);
  return (
    <Stack gap="xl">
      {account.statusReason && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {account.statusReason}
        </Alert>
      )}
      {!isMember && <NotMember account={account} />}
      {isMember && rights.importMail && <ImportSection account={account} />}
      {isMember && rights.exportMail && account.mailboxes.length > 0 && <ExportSection account={account} />}
      {isMember && <FoldersSection account={account} rights={rights} />}
      {rights.changeAccounts && !members.isPending && (
        <Section title={t.details}>
          <AccountForm
            key={form.saves}
            account={form.account}
            members={members.data ?? null}
            save={save.mutate}
            saving={save.isPending}
            error={save.error}
          />
        </Section>
      )}
      {rights.destroyAccounts && <Destroy account={account} />}
    </Stack>
  );
}

/** Shown to administrators who can manage an account without seeing its mail. */
function NotMember({ account }: { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().accounts;
  const { data: check } = useCheck();
  const joinAccount = useActionMutation({
    write: (client) => client.post(`accounts/${account.id}/members:add`, [check!.id]),
    changes: accountKeys,
    done: () => toast(t.joined),
  });
  return (
    <Alert variant="light" icon={<Icon name="lock" />} title={t.notMember}>
      <Stack gap="xs" align="flex-start">
        {t.notMemberText}
        {check?.id != null && (
          <Button size="compact-sm" variant="default" onClick={() => void joinAccount()}>
            {t.join}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

function Destroy({ account }: { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().accounts;
  const { destroy: confirmLabel } = useTexts().common;
  const app = useApplication();
  const navigate = useNavigate();
  const destroy = useActionMutation({
    write: (client) => client.records('accounts').destroy(account.id),
    changes: ['mail-accounts'],
    done: async () => {
      toast(t.destroyed);
      await navigate({ to: '/a/$app/inbox/accounts', params: { app } });
    },
  });
  const confirmDestroy = async (): Promise<void> => {
    const question = { title: t.destroyTitle, text: t.destroyText, confirmLabel, typed: account.address, danger: true };
    if (await confirm(question)) await destroy();
  };
  return (
    <DestroySection
      resource="accounts"
      text={t.destroyText}
      destroyLabel={confirmLabel}
      destroy={() => void confirmDestroy()}
    />
  );
}

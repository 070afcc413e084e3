import { Alert, Button, Stack } from '@mantine/core';
import { Failure } from '@tablinum/client';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useCheck } from '../../data/queries.ts';
import { useSchema } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useAccounts } from '../mail-queries.ts';
import { noRights, useMailRights } from '../rights.ts';
import { RulesLink } from '../rules/rules-link.tsx';
import { TemplatesLink } from '../templates/templates-link.tsx';
import { type AccountRecord, accountKeys, useAccount, useAccountEvents, useMembers } from './account-data.ts';
import { AccountForm } from './account-form.tsx';
import { ExportSection } from './export-section.tsx';
import { FoldersSection } from './folders-section.tsx';
import { IdentitiesSection } from './identities-section.tsx';
import { ImportSection } from './import-section.tsx';
import { ProblemLog } from './problem-log.tsx';
import { StatusBadge } from './status-badge.tsx';
import { SyncSection } from './sync-section.tsx';

/** The page of one mail account: import, export, folders, servers and members. */
export function MailAccountPage(): ReactNode {
  const t = useInboxTexts().accounts;
  const app = useApplication();
  const { account: id = '' } = useParams({ strict: false });
  const account = useAccount(Number(id));
  useAccountEvents();
  const above = (
    <TextLink to="/a/$app/inbox/accounts" params={{ app }}>
      {t.all}
    </TextLink>
  );
  const { data } = account;
  // The first request may be refused for other reasons, which the server names.
  const isGone = data !== undefined && isNotFound(account.error);
  return (
    <Page
      title={data && !isGone ? data.name || data.address : t.loading}
      above={above}
      description={
        data &&
        !isGone && (
          <>
            {data.name && <bdi dir="ltr">{data.address}</bdi>} <StatusBadge status={data.status} />
          </>
        )
      }
    >
      {isGone ? (
        <Empty icon="inbox" title={t.notFound} text={t.notFoundText}>
          <ButtonLink to="/a/$app/inbox/accounts" params={{ app }} variant="default">
            {t.all}
          </ButtonLink>
        </Empty>
      ) : (
        <QueryBoundary query={account} permission={{ resource: 'accounts', action: 'get' }}>
          {(loaded) => <Content key={loaded.id} account={loaded} />}
        </QueryBoundary>
      )}
    </Page>
  );
}

/** Whether the account is not visible (any more): an account that is being deleted is hidden at once. */
function isNotFound(error: Error | null): boolean {
  return error instanceof Failure && (error.status === 404 || error.status === 403);
}

function Content({ account }: { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().accounts;
  const rights = useMailRights() ?? noRights;
  const { data: schema } = useSchema();
  const mayReadRules = schema?.may('mailRules', 'list') ?? false;
  const mayReadTemplates = schema?.may('mailTemplates', 'list') ?? false;
  const otherAccounts = useAccounts().data?.otherAccounts ?? [];
  const members = useMembers(account.id);
  /** The account as it was when the page was opened, or saved last: the form starts again with it after every save. */
  const [saved, setSaved] = useState(account);
  const save = useApiMutation<AccountRecord, Record<string, unknown>>({
    write: (client, values) => client.post('accounts:update', values, { filterByTk: account.id }),
    changes: accountKeys,
    done: (values) => {
      setSaved({ ...account, ...values });
      toast(t.saved);
    },
  });
  const isMember = otherAccounts.every(({ id }) => id !== account.id);
  return (
    <Stack gap="xl">
      <SyncSection account={account} canChange={rights.changeAccounts} isMember={isMember} />
      {!isMember && <NotMember account={account} />}
      {isMember && rights.importMail && <ImportSection account={account} />}
      {isMember && rights.exportMail && account.mailboxes.length > 0 && <ExportSection account={account} />}
      {isMember && <FoldersSection account={account} rights={rights} />}
      {isMember && mayReadRules && <RulesLink account={account.id} />}
      {isMember && mayReadTemplates && <TemplatesLink account={account.id} />}
      {rights.changeAccounts && members.isFetched && (
        <Section title={t.details}>
          <AccountForm
            account={saved}
            members={members.data ?? null}
            save={save.mutate}
            saving={save.isPending}
            error={save.error}
          />
        </Section>
      )}
      {(account.identities ?? []).length > 0 && (
        <IdentitiesSection account={account} canChange={rights.changeAccounts} />
      )}
      <ProblemLog account={account.id} />
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

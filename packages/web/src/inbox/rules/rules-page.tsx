import { Button, Modal, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useSchema } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { type AccountRecord, useAccount } from '../accounts/account-data.ts';
import { useRules } from './rule-data.ts';
import { RuleForm } from './rule-form.tsx';
import { RuleList } from './rule-list.tsx';
import type { MailRule } from './rule-types.ts';
import { VacationSection } from './vacation-section.tsx';

/** The page of the rules and the vacation reply of one mail account. */
export function RulesPage(): ReactNode {
  const t = useInboxTexts().rules;
  const app = useApplication();
  const { account: id = '' } = useParams({ strict: false });
  const account = useAccount(Number(id));
  const { data } = account;
  const above = (
    <TextLink to="/a/$app/inbox/accounts/$account" params={{ app, account: id }}>
      {data ? data.name || data.address : id}
    </TextLink>
  );
  return (
    <Page title={t.title} above={above} description={t.description}>
      <QueryBoundary query={account} permission={{ resource: 'accounts', action: 'get' }}>
        {(loaded) => (
          <Stack gap="xl">
            <RulesSection account={loaded} />
            <VacationSection key={loaded.id} account={loaded} />
          </Stack>
        )}
      </QueryBoundary>
    </Page>
  );
}

function RulesSection({ account }: { readonly account: AccountRecord }): ReactNode {
  const t = useInboxTexts().rules;
  const { data: schema } = useSchema();
  const rules = useRules(account.id);
  /** The rule in the dialog; null while the dialog is closed. */
  const [edited, setEdited] = useState<MailRule | 'new' | null>(null);
  const close = (): void => setEdited(null);
  const add = schema?.may('mailRules', 'create') && (
    <Button leftSection={<Icon name="plus" />} onClick={() => setEdited('new')}>
      {t.add}
    </Button>
  );
  const rights = {
    change: schema?.may('mailRules', 'update') ?? false,
    destroy: schema?.may('mailRules', 'destroy') ?? false,
  };
  return (
    <Section title={t.listTitle} text={t.listText} actions={add}>
      <QueryBoundary query={rules} permission={{ resource: 'mailRules', action: 'list' }}>
        {(list) =>
          list.length === 0 ? (
            <Text c="dimmed">{t.none}</Text>
          ) : (
            <RuleList rules={list} rights={rights} edit={setEdited} />
          )
        }
      </QueryBoundary>
      <Modal opened={edited !== null} onClose={close} title={edited === 'new' ? t.add : t.editTitle} size="xl">
        {edited !== null && <RuleForm account={account} rule={edited === 'new' ? null : edited} done={close} />}
      </Modal>
    </Section>
  );
}

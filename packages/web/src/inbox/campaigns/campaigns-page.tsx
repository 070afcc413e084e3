import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Campaign, useCampaignEvents, useCampaigns } from './campaign-data.ts';
import { CampaignStatus } from './campaign-status.tsx';

/** The list of campaigns, newest first. */
export function CampaignsPage(): ReactNode {
  const t = useInboxTexts();
  const app = useApplication();
  const campaigns = useCampaigns();
  const may = useMay();
  useCampaignEvents();
  const add = may('mailCampaigns', 'create') && (
    <ButtonLink
      to="/a/$app/inbox/campaigns/$campaign"
      params={{ app, campaign: 'new' }}
      leftSection={<Icon name="plus" />}
    >
      {t.campaigns.add}
    </ButtonLink>
  );
  const above = (
    <TextLink to="/a/$app/inbox" params={{ app }}>
      {t.accounts.backToInbox}
    </TextLink>
  );
  return (
    <Page title={t.campaigns.title} description={t.campaigns.description} above={above} actions={add}>
      <QueryBoundary query={campaigns} permission={{ resource: 'mailCampaigns', action: 'list' }}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="send" title={t.campaigns.none} text={t.campaigns.noneText}>
              {add}
            </Empty>
          ) : (
            <CampaignTable campaigns={data} />
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function CampaignTable({ campaigns }: { readonly campaigns: readonly Campaign[] }): ReactNode {
  const t = useInboxTexts().campaigns;
  const app = useApplication();
  return (
    <ListTable<Campaign>
      label={t.title}
      rows={campaigns}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t.columns.name,
          render: ({ id, name }) => (
            <TextLink to="/a/$app/inbox/campaigns/$campaign" params={{ app, campaign: String(id) }}>
              <LongText>{name}</LongText>
            </TextLink>
          ),
        },
        { title: t.columns.status, render: ({ status }) => <CampaignStatus status={status} /> },
        { title: t.columns.recipients, number: true, render: ({ recipients }) => t.count(recipients) },
        { title: t.columns.sent, number: true, render: ({ sent }) => t.count(sent) },
        { title: t.columns.replied, number: true, render: ({ replied }) => t.count(replied) },
      ]}
    />
  );
}

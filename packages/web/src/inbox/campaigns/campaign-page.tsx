import { Alert, Stack } from '@mantine/core';
import type { Collection, Filter } from '@tablinum/client';
import { useParams } from '@tanstack/react-router';
import type { ComponentType, ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { useAccounts } from '../mail-queries.ts';
import { type Campaign, useCampaign, useCampaignEvents } from './campaign-data.ts';
import { CampaignForm } from './campaign-form.tsx';
import { CampaignRecipients } from './campaign-recipients.tsx';
import { CampaignResults } from './campaign-results.tsx';
import { CampaignStatus } from './campaign-status.tsx';
import { CampaignSteps } from './campaign-steps.tsx';

/** Edits the filter of a list, and applies it with a button. */
export type FilterEditorComponent = ComponentType<{
  readonly collection: Collection;
  readonly filter: Filter | undefined;
  readonly apply: (filter: Filter | undefined) => void;
}>;

/** The page of one campaign: its editor while it is a draft, else its progress and results. */
export function CampaignPage({ filterEditor }: { readonly filterEditor: FilterEditorComponent }): ReactNode {
  const t = useInboxTexts().campaigns;
  const app = useApplication();
  const { campaign: key = '' } = useParams({ strict: false });
  const id = key === 'new' ? null : Number(key);
  const campaign = useCampaign(id);
  useCampaignEvents();
  const above = (
    <TextLink to="/a/$app/inbox/campaigns" params={{ app }}>
      {t.back}
    </TextLink>
  );
  if (id === null)
    return (
      <Page title={t.add} above={above}>
        <Editor campaign={null} filterEditor={filterEditor} />
      </Page>
    );
  const { data } = campaign;
  return (
    <Page
      title={data?.name ?? t.title}
      above={above}
      description={data && <CampaignStatus status={data.status} />}
      actions={data && <CampaignSteps campaign={data} />}
    >
      <QueryBoundary query={campaign} permission={{ resource: 'mailCampaigns', action: 'get' }}>
        {(loaded) =>
          loaded.status === 'draft' ? (
            <Editor key={loaded.id} campaign={loaded} filterEditor={filterEditor} />
          ) : (
            <Stack gap="xl">
              {loaded.problem !== null && (
                <Alert color="yellow" role="alert">
                  {loaded.problem}
                </Alert>
              )}
              <CampaignResults campaign={loaded} />
              <CampaignRecipients campaign={loaded.id} />
            </Stack>
          )
        }
      </QueryBoundary>
    </Page>
  );
}

interface EditorProps {
  readonly campaign: Campaign | null;
  readonly filterEditor: FilterEditorComponent;
}

function Editor({ campaign, filterEditor }: EditorProps): ReactNode {
  const t = useInboxTexts().campaigns;
  const accounts = useAccounts();
  return (
    <QueryBoundary query={accounts} permission={{ resource: 'accounts', action: 'list' }}>
      {({ ownAccounts }) =>
        ownAccounts.length === 0 ? (
          <Empty icon="mail" title={t.title} text={t.noAccount} />
        ) : (
          <CampaignForm campaign={campaign} accounts={ownAccounts} filterEditor={filterEditor} />
        )
      }
    </QueryBoundary>
  );
}

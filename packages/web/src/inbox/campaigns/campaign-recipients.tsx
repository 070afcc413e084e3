import { Select, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { QueryBoundary } from '../../data/problem.tsx';
import { Section } from '../../data/section.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Pager } from '../../ui/pager.tsx';
import { type CampaignMessage, useCampaignMessages } from './campaign-data.ts';

const statuses = [
  'queued',
  'sending',
  'sent',
  'replied',
  'bounced',
  'unsubscribed',
  'failed',
  'unknown',
  'skipped',
  'cancelled',
];

/** What became of the message to each recipient. */
export function CampaignRecipients({ campaign }: { readonly campaign: number }): ReactNode {
  const t = useInboxTexts().campaigns;
  const [status, setStatus] = useState<string | null>(null);
  const [page, setPage] = useState(1);
  const messages = useCampaignMessages(campaign, status, page);
  const filter = (
    <Select
      aria-label={t.columns.outcome}
      placeholder={t.allOutcomes}
      data={statuses.map((each) => ({ value: each, label: t.outcome(each) }))}
      value={status}
      onChange={(chosen) => {
        setStatus(chosen);
        setPage(1);
      }}
      clearable
    />
  );
  return (
    <Section title={t.recipients} actions={filter}>
      <QueryBoundary query={messages} permission={{ resource: 'mailCampaignMessages', action: 'list' }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t.noRecipients}</Text>
          ) : (
            <Stack>
              <RecipientTable messages={data} />
              <Pager page={page} totalPage={meta.totalPage ?? 1} count={meta.count ?? data.length} go={setPage} />
            </Stack>
          )
        }
      </QueryBoundary>
    </Section>
  );
}

function RecipientTable({ messages }: { readonly messages: readonly CampaignMessage[] }): ReactNode {
  const t = useInboxTexts().campaigns;
  return (
    <ListTable<CampaignMessage>
      label={t.recipients}
      rows={messages}
      keyOf={({ id }) => id}
      columns={[
        { title: t.columns.address, render: ({ address }) => <LongText isAddress>{address}</LongText> },
        { title: t.columns.outcome, render: ({ status }) => t.outcome(status) },
        {
          title: t.columns.at,
          render: (message) => {
            const at = getLastTime(message);
            return at !== null && <DateTime value={at} />;
          },
        },
        { title: t.columns.reason, render: ({ reason }) => reason && <LongText width={280}>{reason}</LongText> },
      ]}
    />
  );
}

/** When the present outcome became known. */
function getLastTime(message: CampaignMessage): string | null {
  const { unsubscribedAt, bouncedAt, repliedAt, sentAt, queuedAt } = message;
  return unsubscribedAt ?? bouncedAt ?? repliedAt ?? sentAt ?? queuedAt;
}

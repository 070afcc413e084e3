import { List, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { MailFrame } from '../thread/mail-frame.tsx';
import type { CampaignPreview } from './campaign-data.ts';
import classes from './campaigns.module.css';

const noFiles = [] as const;

/** Who gets a campaign, who does not, and the first messages. */
export function CampaignPreviewSection({ preview }: { readonly preview: CampaignPreview }): ReactNode {
  const t = useInboxTexts().campaigns.preview;
  const { recipients, records, complete, leftOut, messages } = preview;
  return (
    <Stack gap="sm" component="section" aria-label={t.title}>
      <Title order={2} size="h4" role="status">
        {t.recipients(recipients)}
      </Title>
      {!complete && <Text c="dimmed">{t.incomplete(records)}</Text>}
      {leftOut.length > 0 && (
        <List size="sm">
          {leftOut.map(({ reason, count }) => (
            <List.Item key={reason}>{t.leftOut(count, reason)}</List.Item>
          ))}
        </List>
      )}
      {messages.length === 0 && <Text c="dimmed">{t.none}</Text>}
      {messages.some(({ html }) => html !== null) && <Text c="dimmed">{t.noRemoteImages}</Text>}
      {messages.map(({ key, address, subject, text, html }) => (
        <article key={key} className={classes.message} aria-label={t.message(address)}>
          <Text size="sm" c="dimmed" dir="auto">
            {address}
          </Text>
          <Text fw={600} dir="auto">
            {subject}
          </Text>
          {html === null ? (
            <pre className={classes.plain} dir="auto">
              {text}
            </pre>
          ) : (
            <MailFrame email={0} html={html} attachments={noFiles} />
          )}
        </article>
      ))}
    </Stack>
  );
}

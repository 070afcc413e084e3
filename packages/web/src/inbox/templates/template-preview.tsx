import { Alert, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { MailFrame } from '../thread/mail-frame.tsx';
import type { MailTemplate } from './template-data.ts';

const noFiles = [] as const;

/** A template with the values of the account and the user, and an example of a recipient. */
export function TemplatePreview({ template }: { readonly template: MailTemplate }): ReactNode {
  const t = useComposeTexts().templates;
  const recipient = { name: t.exampleName, address: 'recipient@example.com' };
  const filled = useApiQuery(
    ['mail-templates', 'preview', template.id],
    (client) => client.mailTemplates.fill({ id: template.id, recipient }),
    { staleTime: 0 },
  );
  return (
    <QueryBoundary query={filled} permission={{ resource: 'mailTemplates', action: 'get' }}>
      {({ subject, text, html, missing }) => (
        <Stack gap="sm">
          {missing.length > 0 && (
            <Alert icon={<Icon name="warning" />} color="yellow">
              {t.missing(missing)}
            </Alert>
          )}
          <Text fw={600} dir="auto">
            {subject}
          </Text>
          {html === null ? (
            <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} dir="auto">
              {text}
            </Text>
          ) : (
            <MailFrame email={0} html={html} attachments={noFiles} />
          )}
        </Stack>
      )}
    </QueryBoundary>
  );
}

import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { useRoleTitle } from '../access/access-queries.ts';
import { NameBadges } from '../access/badges.tsx';
import type { Webhook } from '../access/dto.ts';
import { WebhookStateBadge } from './webhook-state.tsx';

/** The list of webhooks. */
export function WebhooksPage(): ReactNode {
  const t = useAccessTexts().webhooks;
  const app = useApplication();
  const roleTitle = useRoleTitle();
  const webhooks = useApiQuery(
    ['webhooks', 'list'],
    async (client, signal) =>
      (await client.records<Webhook>('webhooks').list({ pageSize: 1000, sort: ['id'] }, { signal })).data,
  );
  const link = (
    <ButtonLink to="/a/$app/access/webhooks/new" params={{ app }} leftSection={<Icon name="plus" />}>
      {t.create}
    </ButtonLink>
  );
  return (
    <ListPage
      title={t.title}
      description={t.description}
      resource="webhooks"
      query={webhooks}
      create={{ link }}
      empty={{ icon: 'webhook', title: t.emptyTitle, text: t.emptyText }}
      keyOf={(each) => each.id}
      columns={[
        {
          title: t.url,
          render: (each) => (
            <TextLink to="/a/$app/access/webhooks/$webhook" params={{ app, webhook: String(each.id) }} fw={500}>
              {each.url}
            </TextLink>
          ),
        },
        { title: t.events, render: (each) => <NameBadges names={each.events} /> },
        { title: t.role, render: (each) => <Text size="sm">{roleTitle(each.role)}</Text> },
        { title: t.state, render: (each) => <WebhookStateBadge webhook={each} /> },
      ]}
    />
  );
}

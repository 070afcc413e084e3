import { Alert, Button, Stack } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DestroySection } from '../../data/destroy-section.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { formatDateTime } from '../../ui/date-time.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Webhook } from '../access/dto.ts';
import { Deliveries } from './deliveries.tsx';
import { WebhookForm, type WebhookValues } from './webhook-form.tsx';
import { getWebhookState, WebhookStateBadge } from './webhook-state.tsx';

interface TestResult {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** The page of one webhook: its state, its deliveries, and its settings. */
export function WebhookPage(): ReactNode {
  const t = useAccessTexts().webhooks;
  const app = useApplication();
  const { webhook: id = '' } = useParams({ strict: false });
  const webhook = useApiQuery(
    ['webhooks', 'one', id],
    (client, signal) => client.records<Webhook>('webhooks').get(id, {}, { signal }),
    { refetchInterval: 10_000 },
  );
  const above = (
    <TextLink to="/a/$app/access/webhooks" params={{ app }}>
      {t.all}
    </TextLink>
  );
  const { data } = webhook;
  return (
    <Page
      title={data?.url ?? id}
      above={above}
      description={data && <WebhookStateBadge webhook={data} />}
      actions={data && <Actions webhook={data} />}
    >
      <QueryBoundary query={webhook} permission={{ resource: 'webhooks', action: 'get' }}>
        {(loaded) => <Content key={loaded.id} webhook={loaded} />}
      </QueryBoundary>
    </Page>
  );
}

function Actions({ webhook }: { webhook: Webhook }): ReactNode {
  const t = useAccessTexts().webhooks;
  const may = useMay();
  const isSending = webhook.enabled && webhook.pausedAt === null;
  const [testing, setTesting] = useState(false);
  const test = useActionMutation({
    write: (client) => client.post<TestResult>('webhooks:test', undefined, { filterByTk: webhook.id }),
    changes: ['deliveries'],
    done: ({ delivered, status, error }) =>
      delivered ? toast(t.testDone(status)) : toast(t.testFailed(error ?? String(status)), { failed: true }),
  });
  const setEnabled = useActionMutation<unknown, boolean>({
    write: (client, enabled) => client.records('webhooks').update(webhook.id, { enabled }),
    changes: ['webhooks'],
    done: (_, enabled) => toast(enabled ? t.enabledToast : t.disabledToast),
  });
  const run = async (): Promise<void> => {
    setTesting(true);
    await test();
    setTesting(false);
  };
  return (
    <>
      {may('webhooks', 'update') && (
        <Button variant="default" onClick={() => void setEnabled(!isSending)}>
          {isSending ? t.disable : t.enable}
        </Button>
      )}
      {may('webhooks', 'test') && (
        <Button leftSection={<Icon name="send" />} loading={testing} onClick={() => void run()}>
          {t.test}
        </Button>
      )}
    </>
  );
}

function Content({ webhook }: { webhook: Webhook }): ReactNode {
  const t = useAccessTexts();
  const save = useApiMutation<unknown, WebhookValues>({
    write: (client, values) => client.records('webhooks').update(webhook.id, values),
    changes: ['webhooks'],
    done: () => toast(t.saved),
  });
  return (
    <Stack gap="xl">
      <DeliveryWarning webhook={webhook} />
      <Deliveries webhookId={webhook.id} />
      <Section title={t.webhooks.details} needs={{ resource: 'webhooks', action: 'update' }}>
        <WebhookForm webhook={webhook} save={save.mutate} saving={save.isPending} error={save.error} />
      </Section>
      <Destroy webhook={webhook} />
    </Stack>
  );
}

function DeliveryWarning({ webhook }: { webhook: Webhook }): ReactNode {
  const t = useAccessTexts().webhooks;
  const state = getWebhookState(webhook);
  if (state !== 'paused' && state !== 'failing') return null;
  const since = webhook.failingSince === null ? '' : formatDateTime(webhook.failingSince);
  return (
    <Alert color={state === 'paused' ? 'red' : 'yellow'} variant="light" icon={<Icon name="warning" />}>
      {state === 'paused' && webhook.pausedAt !== null
        ? t.paused(formatDateTime(webhook.pausedAt), since)
        : t.failing(since)}
    </Alert>
  );
}

function Destroy({ webhook }: { webhook: Webhook }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { destroyTitle, destroyText, destroyed } = access.webhooks;
  const app = useApplication();
  const navigate = useNavigate();
  const destroy = useActionMutation({
    write: (client) => client.records('webhooks').destroy(webhook.id),
    changes: ['webhooks'],
    done: async () => {
      toast(destroyed);
      await navigate({ to: '/a/$app/access/webhooks', params: { app } });
    },
  });
  const confirmDestroy = async (): Promise<void> => {
    if (await confirm({ title: destroyTitle, text: destroyText, confirmLabel: t.common.destroy, danger: true }))
      await destroy();
  };
  return (
    <DestroySection
      resource="webhooks"
      text={destroyText}
      destroyLabel={t.common.destroy}
      destroy={() => void confirmDestroy()}
    />
  );
}

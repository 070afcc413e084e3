import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Allowed } from '../../data/denied.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import type { Webhook } from '../access/dto.ts';
import { SecretDialog } from '../access/secret-dialog.tsx';
import { WebhookForm, type WebhookValues } from './webhook-form.tsx';

export function NewWebhookPage(): ReactNode {
  const t = useAccessTexts().webhooks;
  const app = useApplication();
  const navigate = useNavigate();
  const [createdWebhook, setCreatedWebhook] = useState<Webhook | null>(null);
  const create = useApiMutation<Webhook, WebhookValues>({
    write: (client, values) => client.post<Webhook>('webhooks:create', values),
    changes: ['webhooks'],
    done: setCreatedWebhook,
  });
  const closeSecretDialog = (): void => {
    const webhook = String(createdWebhook?.id);
    setCreatedWebhook(null);
    void navigate({ to: '/a/$app/access/webhooks/$webhook', params: { app, webhook } });
  };
  const above = (
    <TextLink to="/a/$app/access/webhooks" params={{ app }}>
      {t.all}
    </TextLink>
  );
  return (
    <Page title={t.create} above={above}>
      <Allowed resource="webhooks" action="create">
        <WebhookForm webhook={null} save={create.mutate} saving={create.isPending} error={create.error} />
      </Allowed>
      <SecretDialog
        title={t.secretTitle}
        text={t.secretText}
        label={t.secret}
        secret={createdWebhook?.secret ?? null}
        doneLabel={t.secretDone}
        done={closeSecretDialog}
      />
    </Page>
  );
}

import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getValueMessage } from '../../data/problem.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { accountKeys } from './account-data.ts';
import { AccountForm } from './account-form.tsx';
import { leaveForProvider } from './provider-sign-in.ts';

export function NewAccountPage(): ReactNode {
  const t = useInboxTexts().accounts;
  const app = useApplication();
  const navigate = useNavigate();
  /** @returns false if the account was added but the browser cannot go to the provider; its page offers it again. */
  const signIn = async (id: number): Promise<boolean> => {
    try {
      await leaveForProvider(getClient(app), app, id);
      return true;
    } catch (error) {
      toast(getValueMessage(error), { failed: true });
      return false;
    }
  };
  const create = useApiMutation<{ readonly id: number }, Record<string, unknown>>({
    write: (client, values) => client.post('accounts:create', values),
    changes: accountKeys,
    done: async ({ id }, { auth }) => {
      toast(t.created);
      if (auth === 'oauth2' && (await signIn(id))) return;
      await navigate({ to: '/a/$app/inbox/accounts/$account', params: { app, account: String(id) } });
    },
  });
  const above = (
    <TextLink to="/a/$app/inbox/accounts" params={{ app }}>
      {t.all}
    </TextLink>
  );
  return (
    <Page title={t.add} above={above}>
      <AccountForm account={null} members={[]} save={create.mutate} saving={create.isPending} error={create.error} />
    </Page>
  );
}

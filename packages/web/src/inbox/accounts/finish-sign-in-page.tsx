import { Alert, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { ProviderReply } from './provider-reply.ts';
import { claimReply, finishSignIn } from './provider-sign-in.ts';

/** The page to which a mail provider sends the browser back. It hands the reply to the server and opens the account. */
export function FinishSignInPage(): ReactNode {
  const t = useInboxTexts().accounts.signInWithProvider;
  const app = useApplication();
  const navigate = useNavigate();
  const { state, code, error }: ProviderReply = useSearch({ strict: false });
  const finish = useMutation({
    mutationFn: (reply: { state: string; code: string }) => finishSignIn(getClient(app), reply),
    onSuccess: async (account) => {
      toast(t.done);
      const params = { app, account: String(account) };
      await navigate({ to: '/a/$app/inbox/accounts/$account', params, replace: true });
    },
  });
  const { mutate } = finish;
  useEffect(() => {
    // The page can be mounted again while the browser goes on to the account.
    if (state && code && claimReply(state)) mutate({ state, code });
  }, [state, code, mutate]);
  const describeRefusal = (reason = ''): string => (reason === 'access_denied' ? t.denied : t.refused(reason));
  const problem = finish.error ? getErrorMessage(finish.error) : !code || !state ? describeRefusal(error) : null;
  const above = (
    <TextLink to="/a/$app/inbox/accounts" params={{ app }}>
      {t.back}
    </TextLink>
  );
  return (
    <Page title={t.title} above={above}>
      {problem === null ? (
        <Text>{t.working}</Text>
      ) : (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
          <Stack gap="xs">{problem}</Stack>
        </Alert>
      )}
    </Page>
  );
}

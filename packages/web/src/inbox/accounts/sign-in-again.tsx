import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { AccountRecord } from './account-data.ts';
import { leaveForProvider } from './provider-sign-in.ts';

/** Sends the browser to the mail provider of an account that signs in with OAuth 2. */
export function SignInAgain({ account, first = false }: { account: AccountRecord; first?: boolean }): ReactNode {
  const t = useInboxTexts().accounts.synchronisation;
  const application = useApplication();
  const leave = useActionMutation({
    write: (client) => leaveForProvider(client, application, account.id),
    changes: [],
  });
  return (
    <Button size="compact-sm" onClick={() => void leave()}>
      {first ? t.signIn : t.signInAgain}
    </Button>
  );
}

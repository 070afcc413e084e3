import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { AccountProblem } from '../mail-types.ts';
import type { AccountRecord } from './account-data.ts';
import { findSetting, focusSetting } from './setting-ids.ts';
import { SignInAgain } from './sign-in-again.tsx';

interface ServerProblemProps {
  readonly account: AccountRecord;
  readonly problem: AccountProblem;
  /** When the server tries again; null: not by itself. */
  readonly retryAt: string | null;
  /** Whether the role may change the settings of the account and sign in with its mail provider. */
  readonly canChange: boolean;
  /** Whether the user sees the mail of the account: others may not retry. */
  readonly isMember: boolean;
  /** Null for those who may not retry. */
  readonly retry: (() => void) | null;
}

/** Problems of the sign-in; other problems that need a person concern the settings. */
const signInProblems: ReadonlySet<string> = new Set([
  'wrongPassword',
  'appPasswordNeeded',
  'oauthNeeded',
  'tokenRevoked',
]);

/** The problem with the mail server, the cure, and what the reader can do at once. */
export function ServerProblem({
  account,
  problem,
  retryAt,
  canChange,
  isMember,
  retry,
}: ServerProblemProps): ReactNode {
  const t = useInboxTexts().accounts.synchronisation;
  const { status, auth, lastSyncAt } = account;
  const needsPerson = status === 'authError';
  const needsSignIn = needsPerson && signInProblems.has(problem.code);
  const title = needsSignIn
    ? t.problems.signIn
    : needsPerson
      ? t.problems.settings
      : status === 'backoff'
        ? t.problems.backoff
        : t.problems.other;
  const hasProvider = needsSignIn && auth === 'oauth2' && canChange;
  const setting = needsPerson && canChange && !hasProvider ? findSetting(problem, account) : null;
  return (
    <Alert
      color={needsPerson ? 'red' : 'yellow'}
      variant="light"
      icon={<Icon name="warning" />}
      title={title}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <span>{problem.message}</span>
        <span>{problem.cure}</span>
        {retryAt && (
          <Text size="sm">
            {t.retryAt} <DateTime value={retryAt} exact />
          </Text>
        )}
        {needsPerson && !canChange && <span>{t.askOwner}</span>}
        {canChange && !isMember && <span>{t.becomeMember}</span>}
        <Group gap="xs">
          {hasProvider && <SignInAgain account={account} first={lastSyncAt === null} />}
          {setting && (
            <Button size="compact-sm" onClick={() => focusSetting(setting)}>
              {setting === 'password' ? t.enterPassword : t.changeSettings}
            </Button>
          )}
          {retry && (
            <Button size="compact-sm" variant="default" onClick={retry}>
              {t.retry}
            </Button>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

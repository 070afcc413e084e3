import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Section } from '../../data/section.tsx';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { type AccountRecord, accountKeys, useWaitingCounts } from './account-data.ts';
import { ServerProblem } from './server-problem.tsx';

interface SyncSectionProps {
  readonly account: AccountRecord;
  /** Whether the role may change the account. */
  readonly canChange: boolean;
  /** Whether the user sees the mail of the account: others may not retry. */
  readonly isMember: boolean;
}

/** The reply to `accounts:sync`: the number of changes that have not been sent to the mail server yet. */
interface SyncReply {
  readonly waiting: number;
}

/** What the synchronisation of an account is doing, and what is wrong with it. */
export function SyncSection({ account, canChange, isMember }: SyncSectionProps): ReactNode {
  const t = useInboxTexts().accounts.synchronisation;
  const synchronise = useActionMutation<SyncReply>({
    write: (client) => client.post<SyncReply>('accounts:sync', {}, { filterByTk: account.id }),
    changes: accountKeys,
    done: ({ waiting }) => toast(t.begun(waiting)),
  });
  const { imap, status, problem, retryAt, bodiesWaiting = 0 } = account;
  const canSynchronise = canChange && isMember && imap !== null;
  const actions = canSynchronise && status === 'live' && (
    <Button size="compact-sm" variant="default" onClick={() => void synchronise()}>
      {t.syncNow}
    </Button>
  );
  return (
    <Section title={t.title} actions={actions}>
      <Stack gap="sm" maw={640}>
        {problem && (
          <ServerProblem
            {...{ account, problem, retryAt, canChange, isMember }}
            retry={canSynchronise ? () => void synchronise() : null}
          />
        )}
        {imap === null ? (
          <Text size="sm">
            {t.none} {canChange && t.noneCure}
          </Text>
        ) : (
          <>
            {status === 'disabled' && <Text size="sm">{t.notBegun}</Text>}
            {status === 'connecting' && <Text size="sm">{t.connecting}</Text>}
            {status === 'syncing' && <FirstSync account={account} />}
            {status === 'live' && bodiesWaiting > 0 && <Text size="sm">{t.bodies(bodiesWaiting)}</Text>}
            <Text size="sm" c="dimmed">
              {t.lastSync} <DateTime value={account.lastSyncAt} none={t.never} />
            </Text>
          </>
        )}
        <Waiting account={account.id} isMember={isMember} />
      </Stack>
    </Section>
  );
}

/** The changes and messages that are not sent yet; nothing if there are none. */
function Waiting({ account, isMember }: { readonly account: number; readonly isMember: boolean }): ReactNode {
  const t = useInboxTexts().accounts.synchronisation;
  const { data } = useWaitingCounts(account, isMember);
  if (!data) return null;
  const { changes, messages } = data;
  return (
    <>
      {changes.count > 0 && (
        <Text size="sm">
          {t.changesWaiting(changes.count)} <DateTime value={changes.oldestAt} none="" />.
          {changes.failing > 0 && ` ${t.changesFailing(changes.failing)}`}
        </Text>
      )}
      {messages.queued + messages.sending > 0 && (
        <Text size="sm">
          {t.messagesWaiting(messages.queued + messages.sending)} <DateTime value={messages.nextAt} none={t.now} />.
        </Text>
      )}
      {messages.unknown > 0 && <Text size="sm">{t.messagesUnknown(messages.unknown)}</Text>}
    </>
  );
}

/** The progress of the first synchronisation. */
function FirstSync({ account: { backfillDone, backfillTotal } }: { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().accounts.synchronisation;
  if (backfillTotal === 0) return <Text size="sm">{t.listing}</Text>;
  const done = Math.min(backfillDone, backfillTotal);
  return (
    <Stack gap={4}>
      <Progress.Root>
        <Progress.Section value={(done / backfillTotal) * 100} aria-label={t.progressLabel} />
      </Progress.Root>
      <Group justify="space-between" gap="xs">
        <Text size="sm" className="tabular">
          {t.progress(done, backfillTotal)}
        </Text>
        <Text size="sm" c="dimmed">
          {t.progressText}
        </Text>
      </Group>
    </Stack>
  );
}

import { Alert, Button, Group, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { formatDateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Delivery, DeliveryRecipient, DeliveryStatus, Email } from '../mail-types.ts';

interface DeliveryStateProps {
  readonly email: Email;
  /** Whether the role may cancel and repeat sending. */
  readonly canDecide: boolean;
}

/** What became of a message that was sent here, and what the reader can do about it. */
export function DeliveryState({ email, canDecide }: DeliveryStateProps): ReactNode {
  const t = useInboxTexts().delivery;
  const { deliveryStatus: status, delivery } = email;
  if (!status || !delivery) return null;
  const summary = summarise(status, delivery, t);
  const shown = delivery.recipients.filter((each) => isWorthShowing(each, status));
  const { problem } = delivery;
  if (status === 'sent' && shown.length === 0)
    return (
      <Text size="sm" c="dimmed" role="status">
        {summary}
      </Text>
    );
  return (
    <Alert
      mb="sm"
      color={colors[status]}
      variant="light"
      icon={<Icon name={icons[status]} />}
      title={summary}
      role="status"
    >
      <Stack gap="xs" align="flex-start">
        {problem && status !== 'unknown' && (
          <span>
            {problem.message} {problem.cure}
          </span>
        )}
        {status === 'unknown' && <span>{t.unknownText}</span>}
        <Recipients recipients={shown} />
        {canDecide && <Decisions email={email.id} status={status} />}
      </Stack>
    </Alert>
  );
}

const colors: Readonly<Record<DeliveryStatus, string>> = {
  queued: 'gray',
  retrying: 'yellow',
  sent: 'gray',
  partlySent: 'red',
  failed: 'red',
  unknown: 'yellow',
  cancelled: 'gray',
};

const icons: Readonly<Record<DeliveryStatus, 'clock' | 'check' | 'warning'>> = {
  queued: 'clock',
  retrying: 'clock',
  sent: 'check',
  partlySent: 'warning',
  failed: 'warning',
  unknown: 'warning',
  cancelled: 'warning',
};

type DeliveryTexts = ReturnType<typeof useInboxTexts>['delivery'];

function summarise(status: DeliveryStatus, delivery: Delivery, t: DeliveryTexts): string {
  const { sendAt, nextAttemptAt, lastAttemptAt, problem } = delivery;
  if (status === 'queued') {
    if (problem) return t.waiting;
    return Date.parse(sendAt) <= Date.now() ? t.sending : t.queued(formatDateTime(sendAt, true));
  }
  if (status === 'retrying') return nextAttemptAt ? t.retrying(formatDateTime(nextAttemptAt)) : t.waiting;
  if (status === 'sent') return lastAttemptAt ? t.sent(formatDateTime(lastAttemptAt)) : t.sentSometime;
  return t.summaries[status];
}

/** Recipients that the server of the account has accepted are only shown next to others that it has not. */
function isWorthShowing({ status, readAt }: DeliveryRecipient, whole: DeliveryStatus): boolean {
  if (whole === 'queued' || whole === 'cancelled') return false;
  return whole !== 'sent' || status !== 'accepted' || readAt !== undefined;
}

function Recipients({ recipients }: { recipients: readonly DeliveryRecipient[] }): ReactNode {
  const t = useInboxTexts().delivery;
  if (recipients.length === 0) return null;
  return (
    <List size="sm" spacing={4} listStyleType="none">
      {recipients.map(({ address, status, reply, readAt }) => (
        <List.Item key={address}>
          <b>{address}</b>: {readAt ? t.read(formatDateTime(readAt)) : t.recipients[status]}
          {reply && status !== 'accepted' && ` ${t.reply(reply)}`}
        </List.Item>
      ))}
    </List>
  );
}

/** The decisions that each status allows. */
const decisions: Readonly<Record<DeliveryStatus, { readonly retry: boolean; readonly cancel: boolean }>> = {
  queued: { retry: false, cancel: true },
  retrying: { retry: true, cancel: true },
  sent: { retry: false, cancel: false },
  partlySent: { retry: true, cancel: false },
  failed: { retry: true, cancel: false },
  unknown: { retry: true, cancel: true },
  cancelled: { retry: true, cancel: false },
};

function Decisions({ email, status }: { email: number; status: DeliveryStatus }): ReactNode {
  const t = useInboxTexts().delivery;
  const decide = useActionMutation<unknown, 'retrySend' | 'cancelSend'>({
    write: (client, action) => client.post(`emails:${action}`, { id: email }),
    changes: ['thread', 'mail-accounts'],
  });
  const { retry, cancel } = decisions[status];
  if (!retry && !cancel) return null;
  return (
    <Group gap="xs">
      {retry && (
        <Button size="compact-sm" variant="default" onClick={() => void decide('retrySend')}>
          {status === 'retrying' ? t.retryNow : t.sendAgain}
        </Button>
      )}
      {cancel && (
        <Button size="compact-sm" variant="default" onClick={() => void decide('cancelSend')}>
          {t.cancel[status] ?? t.cancel['queued']}
        </Button>
      )}
    </Group>
  );
}

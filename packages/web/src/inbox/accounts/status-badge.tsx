import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { Account } from '../mail-types.ts';

const colors: Readonly<Record<string, string>> = {
  connecting: 'blue',
  syncing: 'blue',
  live: 'teal',
  backoff: 'orange',
  authError: 'red',
};

/** The status of the synchronisation of an account, in words. */
export function StatusBadge({ status }: Pick<Account, 'status'>): ReactNode {
  const { statuses } = useInboxTexts().accounts;
  return (
    <Badge variant="dot" color={colors[status] ?? 'gray'} tt="none" miw="max-content">
      {statuses[status] ?? status}
    </Badge>
  );
}

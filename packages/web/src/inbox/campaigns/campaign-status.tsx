import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';

const colors: Readonly<Record<string, string>> = {
  draft: 'gray',
  scheduled: 'blue',
  sending: 'verdigris',
  paused: 'yellow',
  done: 'green',
  cancelled: 'gray',
};

/** The status of a campaign. */
export function CampaignStatus({ status }: { readonly status: string }): ReactNode {
  const t = useInboxTexts().campaigns;
  return (
    <Badge variant="light" color={colors[status] ?? 'gray'} tt="none">
      {t.status(status)}
    </Badge>
  );
}

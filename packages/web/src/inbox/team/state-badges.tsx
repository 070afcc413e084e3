import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { Conversation } from '../mail-types.ts';
import { formatMoment } from '../times.ts';

/** Badges for the state of a conversation; none if it is open and not muted. */
export function StateBadges({ conversation }: { conversation: Conversation }): ReactNode {
  const t = useInboxTexts().team;
  const { state, snoozedUntil, muted } = conversation;
  const label =
    state === 'snoozed' && snoozedUntil !== null ? t.snoozedUntil(formatMoment(snoozedUntil)) : t.states[state];
  return (
    <>
      {state !== 'open' && label && (
        <Badge variant="light" color={state === 'snoozed' ? 'blue' : 'gray'} tt="none">
          {label}
        </Badge>
      )}
      {muted && (
        <Badge variant="light" color="gray" tt="none">
          {t.muted}
        </Badge>
      )}
    </>
  );
}

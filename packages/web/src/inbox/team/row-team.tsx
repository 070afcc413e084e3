import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Conversation } from '../mail-types.ts';
import { formatMoment } from '../times.ts';

/** What a row of the list shows about the work of the team: notes, mute and snooze. */
export function RowTeam({ row }: { row: Conversation }): ReactNode {
  const t = useInboxTexts().team;
  const { notes, muted, snoozedUntil } = row;
  return (
    <>
      {notes > 0 && (
        <span role="img" aria-label={t.noteCount(notes)}>
          <Icon name="note" size={13} />
        </span>
      )}
      {muted && (
        <span role="img" aria-label={t.muted}>
          <Icon name="bellOff" size={13} />
        </span>
      )}
      {typeof snoozedUntil === 'string' && (
        <span role="img" aria-label={t.snoozedUntil(formatMoment(snoozedUntil))}>
          <Icon name="clock" size={13} />
        </span>
      )}
    </>
  );
}

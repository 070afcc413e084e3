import { Alert } from '@mantine/core';
import type { PresentUser } from '@tablinum/client/realtime';
import type { ReactNode } from 'react';
import { type InboxTexts, useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { Avatar } from '../avatar.tsx';
import classes from './team-bar.module.css';

/** The avatars of the other users who have the conversation open. */
export function PresenceAvatars({ present }: { present: readonly PresentUser[] }): ReactNode {
  const { presence } = useInboxTexts().team;
  const editing = present.filter(({ activity }) => activity === 'editing');
  const viewing = present.filter(({ activity }) => activity !== 'editing');
  const sentences = [
    ...(editing.length > 0 ? [presence.editing(joinNames(editing, presence), editing.length)] : []),
    ...(viewing.length > 0 ? [presence.viewing(joinNames(viewing, presence), viewing.length)] : []),
  ];
  const label = sentences.join('. ');
  return (
    <output className={classes.present} title={label || undefined}>
      <span className="visually-hidden">{label}</span>
      {present.slice(0, 4).map(({ userId, name, activity }) => (
        <span key={userId} className={classes.avatar} data-editing={activity === 'editing' || undefined}>
          <Avatar name={name} />
          {activity === 'editing' && <Icon name="edit" size={11} />}
        </span>
      ))}
      {present.length > 4 && <span aria-hidden="true">+{present.length - 4}</span>}
    </output>
  );
}

/** A warning above the composer while another user answers the conversation too. */
export function CollisionWarning({ present }: { present: readonly PresentUser[] }): ReactNode {
  const { presence } = useInboxTexts().team;
  const editing = present.filter(({ activity }) => activity === 'editing');
  return (
    editing.length > 0 && (
      <Alert color="yellow" icon={<Icon name="warning" />} role="alert" p="xs">
        {presence.collision(joinNames(editing, presence), editing.length)}
      </Alert>
    )
  );
}

function joinNames(users: readonly PresentUser[], { and }: InboxTexts['team']['presence']): string {
  const names = users.map(({ name }) => name);
  const last = names.at(-1) ?? '';
  return names.length > 1 ? and(names.slice(0, -1).join(', '), last) : last;
}

import { Select } from '@mantine/core';
import type { PresentUser } from '@tablinum/client/realtime';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import type { Conversation } from '../mail-types.ts';
import type { MailRights } from '../rights.ts';
import { FollowUpButton } from './follow-up-button.tsx';
import { PresenceAvatars } from './presence-line.tsx';
import classes from './team-bar.module.css';
import { useMembers, useOwnId } from './team-data.ts';

/** The commands of the bar, which also have keys. */
export interface TeamBarCommands {
  readonly toggleDone: () => void;
  readonly openSnooze: () => void;
  readonly toggleMute: () => void;
  readonly assign: (user: number | null, name: string) => void;
  readonly writeNote: () => void;
  readonly openLabels: () => void;
  readonly openCustomer: () => void;
}

interface TeamBarProps {
  readonly conversation: Conversation;
  readonly rights: MailRights;
  readonly commands: TeamBarCommands;
  readonly present: readonly PresentUser[];
}

/** Who is responsible for a conversation and in which state it is, with the buttons to change that; and who else has it open. */
export function TeamBar({ conversation, rights, commands, present }: TeamBarProps): ReactNode {
  const t = useInboxTexts().team;
  const { assigneeId, state, muted } = conversation;
  const isOpen = state === 'open';
  return (
    <section className={classes.bar} aria-label={t.bar}>
      <Assignee conversation={conversation} mayChange={rights.team} assign={commands.assign} key={assigneeId} />
      {rights.team && (
        <>
          <IconButton
            icon={isOpen ? 'check' : 'refresh'}
            label={isOpen ? t.commands.close : t.commands.reopen}
            onClick={commands.toggleDone}
          />
          <IconButton
            icon="clock"
            label={t.commands.snooze}
            pressed={state === 'snoozed'}
            onClick={commands.openSnooze}
          />
          <FollowUpButton conversation={conversation} />
          <IconButton icon="bellOff" label={t.commands.mute} pressed={muted} onClick={commands.toggleMute} />
        </>
      )}
      {rights.mark && <IconButton icon="tag" label={t.commands.labels} onClick={commands.openLabels} />}
      {rights.note && <IconButton icon="note" label={t.commands.note} onClick={commands.writeNote} />}
      <IconButton icon="user" label={t.customer.open} onClick={commands.openCustomer} />
      <PresenceAvatars present={present} />
    </section>
  );
}

interface AssigneeProps {
  readonly conversation: Conversation;
  readonly mayChange: boolean;
  readonly assign: TeamBarCommands['assign'];
}

function Assignee({ conversation: { accountId, assigneeId }, mayChange, assign }: AssigneeProps): ReactNode {
  const t = useInboxTexts().team;
  const members = useMembers(accountId);
  const self = useOwnId();
  const options = [
    { value: '', label: t.nobody },
    ...members.map(({ id, name }) => ({ value: String(id), label: id === self ? t.me(name) : name })),
    // An assignee who has left the account.
    ...(assigneeId !== null && !members.some(({ id }) => id === assigneeId)
      ? [{ value: String(assigneeId), label: t.somebody(assigneeId) }]
      : []),
  ];
  return (
    <Select
      aria-label={t.assignee}
      size="xs"
      className={classes.assignee}
      data={options}
      value={assigneeId === null ? '' : String(assigneeId)}
      disabled={!mayChange}
      allowDeselect={false}
      comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
      onChange={(value) => {
        const name = members.find(({ id }) => String(id) === value)?.name ?? t.nobody;
        assign(value === null || value === '' ? null : Number(value), name);
      }}
    />
  );
}

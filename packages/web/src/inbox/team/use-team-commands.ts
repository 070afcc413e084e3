import { useMemo } from 'react';
import { getClient } from '../../data/application.tsx';
import { useScope } from '../../data/queries.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { ConversationList } from '../list/conversation-list.ts';
import type { Conversation } from '../mail-types.ts';
import { formatMoment } from '../times.ts';
import type { Cursor } from '../use-cursor.ts';
import type { InboxAddress } from '../use-inbox-address.ts';
import type { MailCommands } from '../use-mail-commands.ts';
import { applyLabels } from './label-actions.ts';
import type { LabelChange } from './labels.ts';
import { TeamActions, type TeamChange } from './team-actions.ts';
import { useOwnId } from './team-data.ts';

/** The commands of a team on the selected conversations, else on the one at the cursor. */
export interface TeamCommands {
  /** Closes open conversations; reopens them if all are closed, archived or snoozed. */
  toggleDone(): void;
  /** @param until ISO 8601. */
  snooze(until: string, rows?: readonly Conversation[]): void;
  toggleMute(): void;
  /** @param user null: nobody. */
  assign(user: number | null, name: string): void;
  assignMe(): void;
  changeLabels(change: LabelChange): void;
}

interface TeamCommandOptions {
  readonly list: ConversationList;
  readonly address: InboxAddress;
  readonly cursor: Cursor;
  readonly mail: MailCommands;
}

export function useTeamCommands({ list, address, cursor, mail }: TeamCommandOptions): TeamCommands {
  const texts = useInboxTexts();
  const [application] = useScope();
  const self = useOwnId();
  const { actions: mailActions } = mail;
  const viewKey = JSON.stringify(address.view);
  const actions = useMemo(
    () =>
      new TeamActions({
        client: getClient(application),
        application,
        list,
        view: JSON.parse(viewKey),
        mail: mailActions,
        texts,
      }),
    [application, list, viewKey, mailActions, texts],
  );
  const { done } = texts.team;
  /** Moves the cursor to the next conversation if the change removes the current one from the list. */
  const change = (rows: readonly Conversation[], values: TeamChange, message: string): void => {
    const leaving = rows.filter((row) => actions.leavesView(row, values));
    if (leaving.length > 0) cursor.skip(leaving);
    actions.change(rows, values, message);
  };
  const assign = (user: number | null, name: string): void => {
    const rows = cursor.targets();
    const message = user === null ? done.unassigned(rows.length) : done.assigned(rows.length, name);
    change(rows, { assigneeId: user }, message);
  };
  return {
    toggleDone: () => {
      const rows = cursor.targets();
      const open = rows.filter(({ state }) => state === 'open');
      if (open.length > 0) change(open, { state: 'closed' }, done.closed(open.length));
      else change(rows, { state: 'open' }, done.opened(rows.length));
    },
    snooze: (until, rows = cursor.targets()) => {
      change(rows, { state: 'snoozed', snoozedUntil: until }, done.snoozed(rows.length, formatMoment(until)));
    },
    toggleMute: () => {
      const rows = cursor.targets();
      const muted = !rows.every((row) => row.muted);
      change(rows, { muted }, muted ? done.muted(rows.length) : done.unmuted(rows.length));
    },
    assign,
    assignMe: () => {
      if (self !== null) assign(self, texts.team.you);
    },
    changeLabels: (labelChange) => {
      const context = { client: getClient(application), application, list, mail: mailActions, texts };
      void applyLabels(context, cursor.targets(), labelChange);
    },
  };
}

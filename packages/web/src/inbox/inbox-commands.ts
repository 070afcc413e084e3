/** The commands of the inbox, for its keyboard shortcuts and for the command palette. */
import { useEffect, useMemo, useRef } from 'react';
import { type Command, useCommands } from '../ui/commands.ts';
import { type InboxTexts, useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import type { IconName } from '../ui/icon.tsx';
import { toast } from '../ui/toasts.tsx';
import { useKeyBindings } from './key-bindings.ts';
import type { MailRights } from './rights.ts';
import type { TeamCommands } from './team/use-team-commands.ts';
import type { Cursor } from './use-cursor.ts';
import type { MailCommands } from './use-mail-commands.ts';

export interface InboxCommand {
  /** The name in the command palette; null for commands that only have a key. */
  readonly name: keyof InboxTexts['commands'] | keyof InboxTexts['team']['commands'] | null;
  readonly icon: IconName;
  /** Keys as in `KeyboardEvent.key`. The palette shows the first one. */
  readonly keys: readonly [string, ...string[]];
  /** Whether the role allows it; true by default. */
  readonly isAllowed?: boolean;
  readonly run: () => void;
}

/** The actions that the commands of the inbox run. */
export interface InboxActions {
  readonly mail: MailCommands;
  readonly team: TeamCommands;
  readonly openSnooze: () => void;
  readonly writeNote: () => void;
  readonly openLabels: () => void;
  readonly cursor: Cursor;
  readonly compose: () => void;
  readonly startReply: (kind: 'reply' | 'replyAll' | 'forward', asAttachment?: boolean) => () => void;
  readonly move: () => void;
  readonly search: () => void;
  readonly help: () => void;
  readonly select: () => void;
  /** Prints the open conversation. */
  readonly print: () => void;
}

export function inboxCommands(
  actions: InboxActions,
  { mark, move, destroy, write, team: mayTeam, note }: MailRights,
): readonly InboxCommand[] {
  const { mail, team, cursor, startReply } = actions;
  return [
    { name: 'compose', icon: 'edit', keys: ['c'], isAllowed: write, run: actions.compose },
    { name: 'reply', icon: 'reply', keys: ['r'], isAllowed: write, run: startReply('reply') },
    { name: 'replyAll', icon: 'replyAll', keys: ['a'], isAllowed: write, run: startReply('replyAll') },
    { name: 'forward', icon: 'forward', keys: ['f'], isAllowed: write, run: startReply('forward') },
    {
      name: 'forwardAsAttachment',
      icon: 'paperclip',
      keys: ['F'],
      isAllowed: write,
      run: startReply('forward', true),
    },
    { name: 'archive', icon: 'archive', keys: ['e'], isAllowed: move, run: () => mail.archive() },
    { name: 'trash', icon: 'trash', keys: ['#', 'Delete'], isAllowed: destroy, run: mail.trash },
    { name: 'unread', icon: 'mail', keys: ['u'], isAllowed: mark, run: mail.toggleRead },
    { name: 'star', icon: 'star', keys: ['s'], isAllowed: mark, run: () => mail.toggleStar() },
    { name: 'move', icon: 'folder', keys: ['m', 'v'], isAllowed: move, run: actions.move },
    { name: 'done', icon: 'check', keys: ['d'], isAllowed: mayTeam, run: team.toggleDone },
    { name: 'snooze', icon: 'clock', keys: ['b'], isAllowed: mayTeam, run: actions.openSnooze },
    { name: 'mute', icon: 'bellOff', keys: ['M'], isAllowed: mayTeam, run: team.toggleMute },
    { name: 'assignMe', icon: 'user', keys: ['i'], isAllowed: mayTeam, run: team.assignMe },
    { name: 'labels', icon: 'tag', keys: ['l'], isAllowed: mark, run: actions.openLabels },
    { name: 'note', icon: 'note', keys: ['n'], isAllowed: note, run: actions.writeNote },
    { name: 'print', icon: 'printer', keys: ['p'], run: actions.print },
    { name: 'search', icon: 'search', keys: ['/'], run: actions.search },
    { name: 'help', icon: 'help', keys: ['?'], run: actions.help },
    { name: null, icon: 'arrowDown', keys: ['j'], run: () => cursor.step(1) },
    { name: null, icon: 'arrowUp', keys: ['k'], run: () => cursor.step(-1) },
    { name: null, icon: 'mail', keys: ['Enter', 'o'], run: cursor.openCurrent },
    { name: null, icon: 'check', keys: ['x'], run: actions.select },
    { name: null, icon: 'history', keys: ['z'], run: () => mail.actions.undo() },
    { name: null, icon: 'x', keys: ['Escape'], run: cursor.back },
  ];
}

/**
 * Binds the keys of the commands and offers the allowed ones in the palette. The key of a command that is not allowed
 * shows a message.
 */
export function useInboxCommands(commands: readonly InboxCommand[]): void {
  const t = useInboxTexts();
  const resolveCommand = ({ isAllowed = true, run }: InboxCommand) =>
    isAllowed ? run : () => toast(t.notAllowed, { failed: true });
  useKeyBindings(Object.fromEntries(commands.flatMap((each) => each.keys.map((key) => [key, resolveCommand(each)]))));
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const offered = commands.flatMap(({ name, icon, keys, isAllowed = true }) =>
    name !== null && isAllowed ? [{ name, icon, key: keys[0] }] : [],
  );
  const signature = JSON.stringify(offered);
  const entries = useMemo(
    () =>
      (JSON.parse(signature) as typeof offered).map(
        ({ name, icon, key }): Command => ({
          id: name,
          label: { ...t.team.commands, ...t.commands }[name],
          icon,
          keys: key,
          // The palette closes and returns the focus first.
          run: () => setTimeout(() => latest.current.find((each) => each.name === name)?.run(), 50),
        }),
      ),
    [signature, t],
  );
  useCommands(entries);
}

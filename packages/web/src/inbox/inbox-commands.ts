/** Everything that the inbox does by a key, and that the palette offers: one list for both. */
import { useEffect, useMemo, useRef } from 'react';
import { type Command, useCommands } from '../ui/commands.ts';
import { type InboxTexts, useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import type { IconName } from '../ui/icon.tsx';
import { toast } from '../ui/toasts.tsx';
import { useKeys } from './keys.ts';
import type { MailRights } from './rights.ts';
import type { Cursor } from './use-cursor.ts';
import type { MailCommands } from './use-mail-commands.ts';

export interface InboxCommand {
  /** What the palette calls it; null for steps that only keys make. */
  readonly name: keyof InboxTexts['commands'] | null;
  readonly icon: IconName;
  /** As `KeyboardEvent.key` names them; the palette shows the first. */
  readonly keys: readonly string[];
  /** The role may; unless told, everybody may. */
  readonly allowed?: boolean;
  readonly run: () => void;
}

/** What the keys of the inbox set off. */
export interface InboxActs {
  readonly mail: MailCommands;
  readonly cursor: Cursor;
  readonly compose: () => void;
  readonly answer: (kind: 'reply' | 'replyAll' | 'forward') => () => void;
  readonly move: () => void;
  readonly search: () => void;
  readonly help: () => void;
  readonly select: () => void;
}

export function inboxCommands(acts: InboxActs, { mark, move, destroy, write }: MailRights): readonly InboxCommand[] {
  const { mail, cursor, answer } = acts;
  return [
    { name: 'compose', icon: 'edit', keys: ['c'], allowed: write, run: acts.compose },
    { name: 'reply', icon: 'reply', keys: ['r'], allowed: write, run: answer('reply') },
    { name: 'replyAll', icon: 'replyAll', keys: ['a'], allowed: write, run: answer('replyAll') },
    { name: 'forward', icon: 'forward', keys: ['f'], allowed: write, run: answer('forward') },
    { name: 'archive', icon: 'archive', keys: ['e'], allowed: move, run: mail.archive },
    { name: 'trash', icon: 'trash', keys: ['#', 'Delete'], allowed: destroy, run: mail.trash },
    { name: 'unread', icon: 'mail', keys: ['u'], allowed: mark, run: mail.toggleRead },
    { name: 'star', icon: 'star', keys: ['s'], allowed: mark, run: () => mail.toggleStar() },
    { name: 'move', icon: 'folder', keys: ['m'], allowed: move, run: acts.move },
    { name: 'search', icon: 'search', keys: ['/'], run: acts.search },
    { name: 'help', icon: 'info', keys: ['?'], run: acts.help },
    { name: null, icon: 'arrowDown', keys: ['j'], run: () => cursor.step(1) },
    { name: null, icon: 'arrowUp', keys: ['k'], run: () => cursor.step(-1) },
    { name: null, icon: 'mail', keys: ['Enter', 'o'], run: cursor.openAt },
    { name: null, icon: 'check', keys: ['x'], run: acts.select },
    { name: null, icon: 'history', keys: ['z'], run: () => mail.actions.undo() },
    { name: null, icon: 'x', keys: ['Escape'], run: cursor.back },
  ];
}

/** Keys do what they stand for, or say that the role may not; the palette offers what the role may. */
export function useInboxCommands(commands: readonly InboxCommand[]): void {
  const t = useInboxTexts();
  const act = ({ allowed = true, run }: InboxCommand) => (allowed ? run : () => toast(t.notAllowed, { failed: true }));
  useKeys(Object.fromEntries(commands.flatMap((each) => each.keys.map((key) => [key, act(each)]))));
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const offered = commands.flatMap(({ name, icon, keys, allowed = true }) =>
    name !== null && allowed ? [{ name, icon, key: keys[0]! }] : [],
  );
  const sign = JSON.stringify(offered);
  const entries = useMemo(
    () =>
      (JSON.parse(sign) as typeof offered).map(
        ({ name, icon, key }): Command => ({
          id: name,
          label: t.commands[name],
          icon,
          keys: key,
          // The palette closes first, and gives the focus back.
          run: () => setTimeout(() => latest.current.find((each) => each.name === name)?.run(), 50),
        }),
      ),
    [sign, t],
  );
  useCommands(entries);
}

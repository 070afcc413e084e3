/** Everything that the inbox does by a key, and that the palette offers: one list for both. */
import { useEffect, useMemo, useRef } from 'react';
import { type Command, useCommands } from '../ui/commands.ts';
import { type InboxTexts, useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import type { IconName } from '../ui/icon.tsx';
import { toast } from '../ui/toasts.tsx';
import { useKeys } from './keys.ts';

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

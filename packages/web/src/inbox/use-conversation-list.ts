import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { clientOf } from '../data/application.tsx';
import { useLive } from '../data/live.ts';
import { forget, useScope } from '../data/queries.ts';
import { onReturn } from '../data/reachability.ts';
import { forgetThread } from './data-mail.ts';
import type { Shown } from './inbox-search.ts';
import { ConversationList, type ListState } from './list/conversation-list.ts';

/** Counts of folders are asked for again at most so often, in milliseconds. */
const countsPause = 800;

/** The list for what is shown, kept up to date by events; after a sleep from where it stood. */
export function useConversationList(shown: Shown): { readonly list: ConversationList; readonly state: ListState } {
  const [application, role] = useScope();
  const key = JSON.stringify([application, role, shown]);
  const list = useMemo(() => {
    const [of, , what] = JSON.parse(key) as [string, string | null, Shown];
    return new ConversationList(clientOf(of), what);
  }, [key]);
  const state = useSyncExternalStore(list.subscribe, list.snapshot);
  useEffect(() => void list.readOn(), [list]);
  useEffect(() => onReturn(() => list.snapshot().error && void list.readAgain()), [list]);
  const counts = useRef<ReturnType<typeof setTimeout>>(undefined);
  const countAgain = (): void => {
    counts.current ??= setTimeout(() => {
      counts.current = undefined;
      void forget(application, 'mail-accounts');
    }, countsPause);
  };
  const lost = (): void => {
    void list.reload();
    void forget(application, 'thread');
    countAgain();
  };
  useLive(
    'conversations',
    ({ tk }) => {
      list.heard(Number(tk));
      forgetThread(application, Number(tk));
      countAgain();
    },
    lost,
    () => void list.readAgain(),
  );
  // Folders that others make, and accounts that come and go.
  useLive('mailboxes', countAgain, countAgain);
  useLive('accounts', countAgain, countAgain);
  return { list, state };
}

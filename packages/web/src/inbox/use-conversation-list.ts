import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { getClient } from '../data/application.tsx';
import { invalidate, useScope } from '../data/queries.ts';
import { onReconnect } from '../data/reachability.ts';
import { useRealtimeEvents } from '../data/realtime-events.ts';
import { useCollection } from '../data/schema.ts';
import type { InboxView } from './inbox-search.ts';
import { ConversationList, type ListState } from './list/conversation-list.ts';
import { invalidateThread } from './mail-queries.ts';
import { refreshLoad } from './team/team-views.tsx';

/** The minimum interval between reads of the folder counts, in milliseconds. */
const countsDelay = 800;

/** The list of conversations of a view, updated by realtime events. */
export function useConversationList(view: InboxView): { readonly list: ConversationList; readonly state: ListState } {
  const [application, role] = useScope();
  const conversations = useCollection('conversations');
  const readsState = !conversations?.fields || conversations.fields.some(({ name }) => name === 'state');
  const key = JSON.stringify([application, role, view, readsState]);
  const list = useMemo(() => {
    const [scopedApplication, scopedRole, scopedView, mayFilter] = JSON.parse(key) as [
      string,
      string | null,
      InboxView,
      boolean,
    ];
    return new ConversationList(getClient(scopedApplication), scopedView, mayFilter, scopedRole);
  }, [key]);
  const state = useSyncExternalStore(list.subscribe, list.snapshot);
  useEffect(() => void list.loadMore(), [list]);
  useEffect(() => onReconnect(() => list.snapshot().error && void list.reloadIfLoaded()), [list]);
  const counts = useRef<ReturnType<typeof setTimeout>>(undefined);
  const refreshCounts = (): void => {
    refreshLoad(application);
    counts.current ??= setTimeout(() => {
      counts.current = undefined;
      void invalidate(application, 'mail-accounts');
    }, countsDelay);
  };
  const handleGap = (): void => {
    void list.reload();
    void invalidate(application, 'thread');
    refreshCounts();
  };
  useRealtimeEvents(
    'conversations',
    ({ tk: conversationKey }) => {
      list.markStale(Number(conversationKey));
      invalidateThread(application, Number(conversationKey));
      refreshCounts();
    },
    handleGap,
    () => void list.reloadIfLoaded(),
  );
  // Folders and accounts can be changed by others.
  useRealtimeEvents('mailboxes', refreshCounts, refreshCounts);
  // The first synchronisation does not report every message. A list that may have more rows reads them when it is scrolled.
  const handleAccount = ({ name }: { name: string }): void => {
    refreshCounts();
    if (name === 'accounts.progress' && !list.snapshot().hasMore) void list.reloadIfLoaded();
  };
  useRealtimeEvents('accounts', handleAccount, refreshCounts);
  return { list, state };
}

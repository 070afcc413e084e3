import type { AccountMember, Client } from '@tablinum/client';
import { type ReactNode, useRef } from 'react';
import { useApplication } from '../../data/application.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { useMay } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { IconName } from '../../ui/icon.tsx';
import type { InboxView } from '../inbox-search.ts';
import type { Account } from '../mail-types.ts';
import { useOwnId } from './team-data.ts';

/** One entry of the pane of folders. */
export interface TeamViewEntry {
  readonly key: string;
  readonly icon: IconName;
  readonly label: string;
  readonly view: InboxView;
  /** The number of open conversations; absent where it is not shown. */
  readonly count?: number;
  /** What the count means. */
  readonly countLabel?: string;
}

interface TeamViewsProps {
  readonly accounts: readonly Account[];
  readonly render: (entries: readonly TeamViewEntry[], title: string) => ReactNode;
}

/** The views of a team over all accounts; where an account has several members, with the open conversations of each. */
export function TeamViews({ accounts, render }: TeamViewsProps): ReactNode {
  const t = useInboxTexts().team;
  const self = useOwnId();
  const members = useAllMembers(accounts);
  const isTeam = members.length > 1;
  const load = useLoad(isTeam);
  const createEntry = (key: string, icon: IconName, label: string, assignee: number | null): TeamViewEntry => {
    const count = load.get(assignee) ?? 0;
    const view = { folder: 'any', assignee: assignee ?? 'none' } as const;
    return { key, icon, label, view, count, countLabel: t.views.member(label, count) };
  };
  const entries: readonly TeamViewEntry[] = [
    ...(isTeam && self !== null ? [createEntry('mine', 'user', t.views.mine, self)] : []),
    ...(isTeam ? [createEntry('none', 'users', t.views.unassigned, null)] : []),
    { key: 'snoozed', icon: 'clock', label: t.views.snoozed, view: { folder: 'any', state: 'snoozed' } },
    { key: 'closed', icon: 'check', label: t.views.closed, view: { folder: 'any', state: 'closed' } },
    ...members
      .filter(({ id }) => id !== self && load.has(id))
      .map(({ id, name }) => createEntry(`member ${id}`, 'user', name, id)),
  ];
  return render(entries, t.views.title);
}

/** The members of all accounts, each once. */
function useAllMembers(accounts: readonly Account[]): readonly AccountMember[] {
  const ids = accounts.map(({ id }) => id);
  const { data = [] } = useApiQuery(['mail-members', 'all', ids.join()], (client) => readAllMembers(client, ids), {
    staleTime: 300_000,
  });
  return data;
}

async function readAllMembers(client: Client, accounts: readonly number[]): Promise<readonly AccountMember[]> {
  const lists = await Promise.all(accounts.map((id) => client.mailAccounts.members(id)));
  return [...new Map(lists.flat().map((member) => [member.id, member])).values()];
}

/** Counting reads every open conversation, so it is repeated at most this often. */
const loadDelayMilliseconds = 3000;

/** The number of open conversations of each assignee; null stands for nobody. */
function useLoad(isShown: boolean): ReadonlyMap<number | null, number> {
  const application = useApplication();
  const may = useMay();
  const { data } = useApiQuery(['mail-load'], readLoad, {
    enabled: isShown && may('conversations', 'list'),
    staleTime: 60_000,
  });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const refresh = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void invalidate(application, 'mail-load');
    }, loadDelayMilliseconds);
  };
  useRealtimeEvents('conversations', refresh, refresh);
  return data ?? noLoad;
}

const noLoad: ReadonlyMap<number | null, number> = new Map();

async function readLoad(client: Client): Promise<ReadonlyMap<number | null, number>> {
  const rows = await client.post<readonly { readonly assigneeId: number | null; readonly open: number }[]>(
    'conversations:query',
    {
      measures: [{ field: 'id', aggregation: 'count', alias: 'open' }],
      dimensions: [{ field: 'assigneeId' }],
      filter: { state: 'open', messages: { $gt: 0 } },
    },
  );
  return new Map(rows.map(({ assigneeId, open }) => [assigneeId, open]));
}

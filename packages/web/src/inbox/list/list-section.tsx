import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import classes from '../inbox-page.module.css';
import { buildInboxUrl, type InboxView } from '../inbox-search.ts';
import type { Account, Conversation } from '../mail-types.ts';
import type { MailRights } from '../rights.ts';
import type { Cursor } from '../use-cursor.ts';
import type { MailCommands } from '../use-mail-commands.ts';
import type { Selection } from '../use-selection.ts';
import type { ConversationList, ListState } from './conversation-list.ts';
import { ListBar } from './list-bar.tsx';
import { ListPane } from './list-pane.tsx';
import { SearchScope } from './search-scope.tsx';

interface ListSectionProps {
  readonly list: ConversationList;
  readonly state: ListState;
  readonly accounts: readonly Account[];
  readonly view: InboxView;
  readonly setView: (view: InboxView) => void;
  readonly selection: Selection;
  readonly cursor: Cursor;
  readonly commands: MailCommands;
  readonly rights: MailRights;
  /** Asks where to. */
  readonly move: () => void;
}

/** The conversations, with what can be done to several at once above them. */
export function ListSection(props: ListSectionProps): ReactNode {
  const { list, state, accounts, view, setView, selection, cursor, commands, rights, move } = props;
  const t = useInboxTexts();
  const application = useApplication();
  const actions = useStableActions({
    open: cursor.open,
    select: selection.toggle,
    star: (row: Conversation) => commands.toggleStar([row]),
  });
  const ownAddressesByAccount = useMemo(() => listOwnAddresses(accounts), [accounts]);
  const isFiltered = view.q !== undefined || view.unread || view.starred;
  const clearFiltersButton = (
    <Button variant="default" onClick={() => setView({})}>
      {t.empty.clearFilters}
    </Button>
  );
  return (
    <section className={classes.list} aria-label={t.conversations}>
      <ListBar
        selection={selection}
        loaded={state.rows.length}
        view={view}
        setView={setView}
        rights={rights}
        archive={commands.archive}
        trash={commands.trash}
        move={move}
        markRead={() => commands.setRead(true)}
        markUnread={() => commands.setRead(false)}
        star={() => commands.toggleStar()}
      />
      <SearchScope view={view} setView={setView} />
      <ListPane
        key={JSON.stringify(view)}
        list={list}
        state={state}
        getOwnAddresses={({ accountId }) => ownAddressesByAccount.get(accountId) ?? noAddresses}
        getHref={(c) => buildInboxUrl(application, { ...view, c })}
        cursor={cursor.current}
        selected={selection.ids}
        maySelect={rights.mark || rights.move || rights.destroy}
        mayStar={rights.mark}
        {...actions}
        empty={
          isFiltered
            ? {
                title: t.empty.filtered,
                text: view.q === undefined ? t.empty.filteredText : t.empty.searchedText,
                step: clearFiltersButton,
              }
            : { title: t.empty.folder, text: t.empty.folderText }
        }
      />
    </section>
  );
}

const noAddresses: ReadonlySet<string> = new Set();

/** The addresses of each account by its id, in lower case. */
function listOwnAddresses(accounts: readonly Account[]): ReadonlyMap<number, ReadonlySet<string>> {
  return new Map(
    accounts.map(({ id, address, aliases }) => [
      id,
      new Set([address, ...(aliases ?? [])].map((each) => each.toLowerCase())),
    ]),
  );
}

interface RowActions {
  readonly open: (id: number) => void;
  readonly select: (id: number, range: boolean) => void;
  readonly star: (row: Conversation) => void;
}

/** The same functions at every rendering, which do what was given last: rows are drawn anew only where they changed. */
function useStableActions(actions: RowActions): RowActions {
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  const [stableActions] = useState(
    (): RowActions => ({
      open: (id) => latest.current.open(id),
      select: (id, range) => latest.current.select(id, range),
      star: (row) => latest.current.star(row),
    }),
  );
  return stableActions;
}

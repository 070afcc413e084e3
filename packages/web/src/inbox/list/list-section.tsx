import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useStable } from '../../ui/use-stable.ts';
import classes from '../inbox-page.module.css';
import { buildInboxUrl } from '../inbox-search.ts';
import type { Account, Conversation } from '../mail-types.ts';
import { SaveSearch } from '../search/save-search.tsx';
import type { InboxState } from '../use-inbox-state.ts';
import { ListBar } from './list-bar.tsx';
import { ListPane } from './list-pane.tsx';
import { SearchScope } from './search-scope.tsx';

interface ListSectionProps {
  readonly inbox: InboxState;
  readonly accounts: readonly Account[];
}

/** The list of conversations; above it the filters, or the buttons for the selected conversations. */
export function ListSection({ inbox, accounts }: ListSectionProps): ReactNode {
  const { list, state, view, setView, selection, cursor, commands, rights } = inbox;
  const t = useInboxTexts();
  const application = useApplication();
  const actions = useStable<RowActions>({
    open: cursor.open,
    select: selection.toggle,
    star: (row) => commands.toggleStar([row]),
  });
  const ownAddressesByAccount = useMemo(() => listOwnAddresses(accounts), [accounts]);
  const isFiltered = view.q !== undefined || view.unread || view.starred || view.label !== undefined;
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
        move={inbox.actions.move}
        markRead={() => commands.setRead(true)}
        markUnread={() => commands.setRead(false)}
        star={() => commands.toggleStar()}
        done={inbox.actions.team.toggleDone}
        snooze={inbox.actions.openSnooze}
      />
      <SearchScope view={view} setView={setView} />
      <SaveSearch view={view} />
      <ListPane
        key={JSON.stringify(view)}
        list={list}
        state={state}
        getOwnAddresses={({ accountId }) => ownAddressesByAccount.get(accountId) ?? noAddresses}
        getHref={(c) => buildInboxUrl(application, { ...view, c })}
        cursor={cursor.current}
        selected={selection.ids}
        maySelect={rights.mark || rights.move || rights.destroy || rights.team}
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

import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useStable } from '../../ui/use-stable.ts';
import classes from '../inbox-page.module.css';
import { buildInboxUrl } from '../inbox-search.ts';
import type { Account, Conversation } from '../mail-types.ts';
import { SaveSearch } from '../search/save-search.tsx';
import { listSnoozeChoices } from '../team/snooze-times.ts';
import type { InboxState } from '../use-inbox-state.ts';
import { ListBar } from './list-bar.tsx';
import { ListPane } from './list-pane.tsx';
import { SearchScope } from './search-scope.tsx';

interface ListSectionProps {
  readonly inbox: InboxState;
  readonly accounts: readonly Account[];
  /** One pane is shown at a time, because the screen is narrow. */
  readonly isNarrow: boolean;
}

/** The list of conversations; above it the filters, or the buttons for the selected conversations. */
export function ListSection({ inbox, accounts, isNarrow }: ListSectionProps): ReactNode {
  const { list, state, view, setView, selection, cursor, commands, rights } = inbox;
  const t = useInboxTexts();
  const application = useApplication();
  const actions = useStable<RowActions>({
    open: cursor.open,
    select: selection.toggle,
    star: (row) => commands.toggleStar([row]),
    archive: (row) => commands.archive([row]),
    snooze: (row) => inbox.actions.team.snooze(getNextMorning(), [row]),
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
        isNarrow={isNarrow}
        archive={() => commands.archive()}
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
        mayArchive={rights.move}
        maySnooze={rights.team}
        isNarrow={isNarrow}
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

/** When a conversation returns that is snoozed by a swipe: the next morning, ISO 8601. */
function getNextMorning(): string {
  const choices = listSnoozeChoices(new Date());
  return (choices.find(({ name }) => name === 'tomorrow') ?? choices[0]!).until.toISOString();
}

interface RowActions {
  readonly open: (id: number) => void;
  readonly select: (id: number, range: boolean) => void;
  readonly star: (row: Conversation) => void;
  readonly archive: (row: Conversation) => void;
  readonly snooze: (row: Conversation) => void;
}

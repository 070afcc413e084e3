import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import classes from '../inbox-page.module.css';
import { addressOf, type Shown } from '../inbox-search.ts';
import type { Account, Conversation } from '../mail.ts';
import type { MailRights } from '../rights.ts';
import type { Cursor } from '../use-cursor.ts';
import type { MailCommands } from '../use-mail-commands.ts';
import type { Selection } from '../use-selection.ts';
import type { ConversationList, ListState } from './conversation-list.ts';
import { ListBar } from './list-bar.tsx';
import { ListPane } from './list-pane.tsx';
import { SearchedIn } from './searched-in.tsx';

interface ListSectionProps {
  readonly list: ConversationList;
  readonly state: ListState;
  readonly accounts: readonly Account[];
  readonly shown: Shown;
  readonly show: (shown: Shown) => void;
  readonly selection: Selection;
  readonly cursor: Cursor;
  readonly commands: MailCommands;
  readonly rights: MailRights;
  /** Asks where to. */
  readonly move: () => void;
}

/** The conversations, with what can be done to several at once above them. */
export function ListSection(props: ListSectionProps): ReactNode {
  const { list, state, accounts, shown, show, selection, cursor, commands, rights, move } = props;
  const t = useInboxTexts();
  const application = useApplication();
  const acts = useSteady({
    open: cursor.open,
    select: selection.toggle,
    star: (row: Conversation) => commands.toggleStar([row]),
  });
  const own = useMemo(() => ownAddresses(accounts), [accounts]);
  const filtered = shown.q !== undefined || shown.unread || shown.starred;
  const showAll = (
    <Button variant="default" onClick={() => show({})}>
      {t.empty.takeAway}
    </Button>
  );
  return (
    <section className={classes.list} aria-label={t.conversations}>
      <ListBar
        selection={selection}
        loaded={state.rows.length}
        shown={shown}
        show={show}
        rights={rights}
        archive={commands.archive}
        trash={commands.trash}
        move={move}
        read={() => commands.setRead(true)}
        unread={() => commands.setRead(false)}
        star={() => commands.toggleStar()}
      />
      <SearchedIn shown={shown} show={show} />
      <ListPane
        key={JSON.stringify(shown)}
        list={list}
        state={state}
        ownOf={({ accountId }) => own.get(accountId) ?? nobody}
        hrefOf={(c) => addressOf(application, { ...shown, c })}
        cursor={cursor.at}
        selected={selection.ids}
        selects={rights.mark || rights.move || rights.destroy}
        stars={rights.mark}
        {...acts}
        empty={
          filtered
            ? {
                title: t.empty.filtered,
                text: shown.q === undefined ? t.empty.filteredText : t.empty.searchedText,
                step: showAll,
              }
            : { title: t.empty.folder, text: t.empty.folderText }
        }
      />
    </section>
  );
}

const nobody: ReadonlySet<string> = new Set();

/** The addresses of each account by its id, in lower case. */
function ownAddresses(accounts: readonly Account[]): ReadonlyMap<number, ReadonlySet<string>> {
  return new Map(
    accounts.map(({ id, address, aliases }) => [
      id,
      new Set([address, ...(aliases ?? [])].map((each) => each.toLowerCase())),
    ]),
  );
}

interface RowActs {
  readonly open: (id: number) => void;
  readonly select: (id: number, range: boolean) => void;
  readonly star: (row: Conversation) => void;
}

/** The same functions at every rendering, which do what was given last: rows are drawn anew only where they changed. */
function useSteady(acts: RowActs): RowActs {
  const latest = useRef(acts);
  useEffect(() => {
    latest.current = acts;
  });
  const [steady] = useState(
    (): RowActs => ({
      open: (id) => latest.current.open(id),
      select: (id, range) => latest.current.select(id, range),
      star: (row) => latest.current.star(row),
    }),
  );
  return steady;
}

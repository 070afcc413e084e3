import { Button } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react';
import { Problem } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { Empty, Waiting } from '../../ui/states.tsx';
import type { Conversation } from '../mail-types.ts';
import type { ConversationList, ListState } from './conversation-list.ts';
import { ConversationRow } from './conversation-row.tsx';
import classes from './list-pane.module.css';

interface ListPaneProps {
  readonly list: ConversationList;
  readonly state: ListState;
  /** The addresses of the account of a conversation, in lower case. */
  readonly getOwnAddresses: (row: Conversation) => ReadonlySet<string>;
  readonly getHref: (id: number) => string;
  readonly cursor: number | null;
  readonly selected: ReadonlySet<number>;
  /** Whether the role may do anything to those that are selected, and whether it may set stars. */
  readonly maySelect: boolean;
  readonly mayStar: boolean;
  readonly open: (id: number) => void;
  readonly select: (id: number, range: boolean) => void;
  readonly star: (row: Conversation) => void;
  /** In the place of rows where there are none. */
  readonly empty: { readonly title: string; readonly text: string; readonly step?: ReactNode };
}

const rowHeight = 76;

/** The conversations, as many as somebody scrolls to; only those in view are drawn. */
export function ListPane(props: ListPaneProps): ReactNode {
  const { list, state, cursor, empty } = props;
  const t = useInboxTexts();
  const scroller = useRef<HTMLDivElement>(null);
  const { rows } = state;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]!.id,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (state.isLoaded && state.hasMore && last >= rows.length - 20) void list.loadMore();
  }, [list, state.isLoaded, state.hasMore, rows.length, last]);
  const scrollToConversation = useEffectEvent((id: number | null) => {
    const index = rows.findIndex((row) => row.id === id);
    if (index >= 0) virtual.scrollToIndex(index, { align: 'auto' });
  });
  // What arrives moves rows, and not the reader: a step of the cursor alone does.
  useEffect(() => scrollToConversation(cursor), [cursor]);
  const handleScroll = (): void => {
    list.isAtTop = (scroller.current?.scrollTop ?? 0) < rowHeight / 2;
  };
  const showArrived = (): void => {
    list.showArrived();
    scroller.current?.scrollTo({ top: 0 });
  };
  if (!state.isLoaded)
    return (
      <div className={classes.scroll}>
        {state.error ? (
          <Problem
            error={state.error}
            retry={() => void list.loadMore()}
            permission={{ resource: 'conversations', action: 'list' }}
          />
        ) : (
          <div className={classes.waiting}>
            <Waiting rows={12} />
          </div>
        )}
      </div>
    );
  return (
    <div className={classes.holder}>
      {state.arrived > 0 && (
        <Button
          className={classes.arrived}
          size="compact-sm"
          radius="xl"
          onClick={showArrived}
          leftSection={<Icon name="arrowUp" size={14} />}
        >
          {t.arrived(state.arrived)}
        </Button>
      )}
      <div ref={scroller} className={classes.scroll} onScroll={handleScroll} data-list>
        {rows.length === 0 && (
          <Empty icon="inbox" title={empty.title} text={empty.text}>
            {empty.step}
          </Empty>
        )}
        <ul className={classes.rows} style={{ height: virtual.getTotalSize() }} aria-label={t.conversations}>
          {items.map(({ index, key, start }) => {
            const row = rows[index]!;
            return (
              <li
                key={key}
                className={classes.item}
                style={{ height: rowHeight, transform: `translateY(${start}px)` }}
                aria-setsize={state.hasMore ? -1 : rows.length}
                aria-posinset={index + 1}
              >
                <ConversationRow
                  row={row}
                  ownAddresses={props.getOwnAddresses(row)}
                  href={props.getHref(row.id)}
                  current={row.id === cursor}
                  selected={props.selected.has(row.id)}
                  maySelect={props.maySelect}
                  mayStar={props.mayStar}
                  open={props.open}
                  select={props.select}
                  star={props.star}
                />
              </li>
            );
          })}
        </ul>
        {state.error && <Problem error={state.error} retry={() => void list.loadMore()} />}
      </div>
    </div>
  );
}

import { Button } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react';
import { Problem } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { Empty, Waiting } from '../../ui/states.tsx';
import { useStore } from '../../ui/store.ts';
import type { Conversation } from '../mail-types.ts';
import type { ConversationList, ListState } from './conversation-list.ts';
import { ConversationRow } from './conversation-row.tsx';
import { getRowHeight, listLayout } from './list-layout.ts';
import classes from './list-pane.module.css';

interface ListPaneProps {
  readonly list: ConversationList;
  readonly state: ListState;
  /** The addresses of the account that the conversation belongs to, in lower case. */
  readonly getOwnAddresses: (row: Conversation) => ReadonlySet<string>;
  readonly getHref: (id: number) => string;
  readonly cursor: number | null;
  readonly selected: ReadonlySet<number>;
  /** The role may do something with selected conversations. */
  readonly maySelect: boolean;
  /** The role may set stars. */
  readonly mayStar: boolean;
  readonly open: (id: number) => void;
  readonly select: (id: number, range: boolean) => void;
  readonly star: (row: Conversation) => void;
  /** Swipes archive and snooze, if the role may do so. */
  readonly mayArchive: boolean;
  readonly maySnooze: boolean;
  readonly archive: (row: Conversation) => void;
  readonly snooze: (row: Conversation) => void;
  /** One pane is shown at a time, because the screen is narrow. */
  readonly isNarrow: boolean;
  /** Shown while the list has no rows. */
  readonly empty: { readonly title: string; readonly text: string; readonly step?: ReactNode };
}

/** The conversations. Only the visible rows are drawn; more are read as the user scrolls. */
export function ListPane(props: ListPaneProps): ReactNode {
  const { list, state, cursor, empty } = props;
  const t = useInboxTexts();
  const layout = useStore(listLayout);
  const rowHeight = getRowHeight(layout, props.isNarrow);
  const { scroller, virtual } = useConversationScroller({ list, state, cursor, rowHeight });
  const { rows } = state;
  const handleScroll = (): void => {
    list.isAtTop = (scroller.current?.scrollTop ?? 0) < rowHeight / 2;
  };
  const showArrived = (): void => {
    list.showArrived();
    scroller.current?.scrollTo({ top: 0 });
  };
  if (!state.isLoaded) return <LoadingPane error={state.error} retry={() => void list.loadMore()} />;
  return (
    <div
      className={classes.holder}
      data-density={layout.density}
      data-wide={(!props.isNarrow && layout.split !== 'left') || undefined}
    >
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
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            return (
              row && (
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
                    archive={props.mayArchive ? props.archive : null}
                    snooze={props.maySnooze ? props.snooze : null}
                  />
                </li>
              )
            );
          })}
        </ul>
        {state.error && <Problem error={state.error} retry={() => void list.loadMore()} />}
      </div>
    </div>
  );
}

/** Draws the visible rows, reads more of them near the end, and keeps the cursor in view when it moves. */
interface ScrollerOptions extends Pick<ListPaneProps, 'list' | 'state' | 'cursor'> {
  readonly rowHeight: number;
}

function useConversationScroller({ list, state, cursor, rowHeight }: ScrollerOptions) {
  const scroller = useRef<HTMLDivElement>(null);
  const { rows, isLoaded, hasMore } = state;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 8,
  });
  // The density has changed: the rows are measured again.
  const measure = useEffectEvent((_height: number) => virtual.measure());
  useLayoutEffect(() => measure(rowHeight), [rowHeight]);
  const last = virtual.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (isLoaded && hasMore && last >= rows.length - 20) void list.loadMore();
  }, [list, isLoaded, hasMore, rows.length, last]);
  const scrollToConversation = useEffectEvent((id: number | null) => {
    const index = rows.findIndex((row) => row.id === id);
    if (index >= 0) virtual.scrollToIndex(index, { align: 'auto' });
  });
  // New mail moves the rows but does not scroll the list; only a step of the cursor does.
  useEffect(() => scrollToConversation(cursor), [cursor]);
  return { scroller, virtual };
}

/** The pane before the first page of the list has been read. */
function LoadingPane({ error, retry }: { error: Error | null; retry: () => void }): ReactNode {
  return (
    <div className={classes.scroll}>
      {error ? (
        <Problem error={error} retry={retry} permission={{ resource: 'conversations', action: 'list' }} />
      ) : (
        <div className={classes.waiting}>
          <Waiting rows={12} />
        </div>
      )}
    </div>
  );
}

import { type MouseEvent, memo, type ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Conversation } from '../mail-types.ts';
import { formatPeople } from '../people.ts';
import { RowTeam } from '../team/row-team.tsx';
import { formatFullTime, formatShortTime } from '../times.ts';
import classes from './conversation-row.module.css';
import { RowLabels } from './row-labels.tsx';
import { useSwipe } from './use-swipe.ts';

interface RowProps {
  readonly row: Conversation;
  /** The addresses of the account, in lower case. */
  readonly ownAddresses: ReadonlySet<string>;
  readonly href: string;
  readonly current: boolean;
  readonly selected: boolean;
  /** The role may do something with selected conversations. */
  readonly maySelect: boolean;
  /** The role may set stars. */
  readonly mayStar: boolean;
  readonly open: (id: number) => void;
  readonly select: (id: number, range: boolean) => void;
  readonly star: (row: Conversation) => void;
  /** What swipes do; null where the role may not. */
  readonly archive: ((row: Conversation) => void) | null;
  readonly snooze: ((row: Conversation) => void) | null;
}

/** One conversation. It consists of plain elements, because many rows are created while the user scrolls. */
export const ConversationRow = memo(function ConversationRow({
  row,
  ownAddresses,
  href,
  current,
  selected,
  maySelect,
  mayStar,
  open,
  select,
  star,
  archive,
  snooze,
}: RowProps): ReactNode {
  const t = useInboxTexts();
  const swipe = useSwipe({ right: archive && (() => archive(row)), left: snooze && (() => snooze(row)) });
  const people = formatPeople(row, ownAddresses, t) || t.nobody;
  const subject = row.subject || t.noSubject;
  const handleClick = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    open(row.id);
  };
  return (
    <div
      className={classes.row}
      data-conversation={row.id}
      data-unread={row.unread > 0 || undefined}
      data-current={current || undefined}
      data-selected={selected || undefined}
      data-swipe-right={t.commands.archive}
      data-swipe-left={t.team.swipeSnooze}
      {...swipe}
    >
      <span className={classes.mark}>
        {maySelect && <RowCheckbox row={row} selected={selected} subject={subject} select={select} />}
      </span>
      <a
        className={classes.link}
        href={href}
        onClick={handleClick}
        tabIndex={current ? 0 : -1}
        aria-current={current || undefined}
      >
        <span className={classes.line}>
          {row.unread > 0 && <span className="visually-hidden">{t.unread}</span>}
          <span className={classes.who} dir="auto">
            {people}
          </span>
          {row.messages > 1 && <span className={classes.count}>{row.messages}</span>}
          {row.attachments > 0 && <Icon name="paperclip" size={13} />}
          <RowTeam row={row} />
          <time className={classes.time} dateTime={row.lastAt ?? undefined} title={formatFullTime(row.lastAt)}>
            {formatShortTime(row.lastAt)}
          </time>
        </span>
        <span className={classes.subject}>
          <RowLabels labels={row.labels} />
          <bdi>{subject}</bdi>
        </span>
        <span className={classes.snippet} dir="auto">
          {row.snippet}
        </span>
      </a>
      <RowStar row={row} mayStar={mayStar} star={star} />
    </div>
  );
});

interface RowCheckboxProps extends Pick<RowProps, 'row' | 'selected' | 'select'> {
  readonly subject: string;
}

function RowCheckbox({ row, selected, select, subject }: RowCheckboxProps): ReactNode {
  const t = useInboxTexts();
  return (
    <input
      type="checkbox"
      className={classes.box}
      checked={selected}
      aria-label={t.select(subject)}
      onChange={() => {}}
      onClick={(event) => select(row.id, event.shiftKey)}
      tabIndex={-1}
    />
  );
}

/** A button where the role may set stars, else an icon if the conversation is starred. */
function RowStar({ row, mayStar, star }: Pick<RowProps, 'row' | 'mayStar' | 'star'>): ReactNode {
  const t = useInboxTexts();
  const isStarred = row.starred > 0;
  if (mayStar)
    return (
      <button
        type="button"
        aria-label={isStarred ? t.unstar : t.star}
        aria-pressed={isStarred}
        className={classes.star}
        onClick={() => star(row)}
        tabIndex={-1}
      >
        <Icon name="star" />
      </button>
    );
  return (
    isStarred && (
      <span className={classes.star} role="img" aria-label={t.starred} data-set>
        <Icon name="star" />
      </span>
    )
  );
}

import { Button, Checkbox } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import type { InboxView } from '../inbox-search.ts';
import type { MailRights } from '../rights.ts';
import type { Selection } from '../use-selection.ts';
import { LabelFilter } from './label-filter.tsx';
import { LayoutMenu } from './layout-menu.tsx';
import classes from './list-bar.module.css';

interface ListBarProps {
  readonly selection: Selection;
  readonly loaded: number;
  readonly view: InboxView;
  readonly setView: (view: InboxView) => void;
  readonly rights: MailRights;
  /** One pane is shown at a time, because the screen is narrow. */
  readonly isNarrow: boolean;
  readonly archive: () => void;
  readonly trash: () => void;
  readonly move: () => void;
  readonly markRead: () => void;
  readonly markUnread: () => void;
  readonly star: () => void;
  readonly done: () => void;
  readonly snooze: () => void;
}

/** Above the list: its filters, or what can be done with those that are selected. */
export function ListBar(props: ListBarProps): ReactNode {
  const t = useInboxTexts();
  const { selection, loaded, view, setView, rights } = props;
  const { ids } = selection;
  const toggle = (name: 'unread' | 'starred'): void => {
    const { [name]: on, ...remaining } = view;
    setView(on ? remaining : { ...remaining, [name]: true });
  };
  return (
    <div className={classes.bar} data-selecting={ids.size > 0 || undefined}>
      {(rights.mark || rights.move || rights.destroy || rights.team) && (
        <Checkbox
          size="xs"
          aria-label={ids.size > 0 ? t.clearSelection : t.selectAll}
          checked={ids.size > 0 && ids.size === loaded}
          indeterminate={ids.size > 0 && ids.size < loaded}
          onChange={() => (ids.size > 0 ? selection.clear() : selection.all())}
          disabled={loaded === 0}
        />
      )}
      {ids.size > 0 ? (
        <>
          <span className={classes.count}>{t.selected(ids.size)}</span>
          <span className={classes.space} />
          {rights.move && <IconButton icon="archive" size="md" label={t.commands.archive} onClick={props.archive} />}
          {rights.destroy && <IconButton icon="trash" size="md" label={t.commands.trash} onClick={props.trash} />}
          {rights.move && <IconButton icon="folder" size="md" label={t.commands.move} onClick={props.move} />}
          {rights.team && (
            <>
              <IconButton icon="check" size="md" label={t.team.commands.done} onClick={props.done} />
              <IconButton icon="clock" size="md" label={t.team.commands.snooze} onClick={props.snooze} />
            </>
          )}
          {rights.mark && (
            <>
              <IconButton icon="eye" size="md" label={t.commands.read} onClick={props.markRead} />
              <IconButton icon="mail" size="md" label={t.commands.unread} onClick={props.markUnread} />
              <IconButton icon="star" size="md" label={t.commands.star} onClick={props.star} />
            </>
          )}
        </>
      ) : (
        <>
          <span className={classes.space} />
          <LabelFilter view={view} setView={setView} />
          {(['unread', 'starred'] as const).map((name) => (
            <Button
              key={name}
              size="compact-sm"
              radius="xl"
              fw={500}
              variant={view[name] ? 'light' : 'subtle'}
              {...(!view[name] && { color: 'gray' })}
              aria-pressed={!!view[name]}
              onClick={() => toggle(name)}
            >
              {t[name]}
            </Button>
          ))}
          <LayoutMenu isNarrow={props.isNarrow} />
        </>
      )}
    </div>
  );
}

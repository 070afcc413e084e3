import { Button, Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode, RefObject } from 'react';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { FolderPane } from './folders/folder-pane.tsx';
import type { InboxView } from './inbox-search.ts';
import type { Account } from './mail-types.ts';
import { SearchField } from './search/search-field.tsx';
import { NotificationBell } from './team/notification-bell.tsx';

interface PageActionsProps {
  readonly view: InboxView;
  readonly setView: (view: InboxView) => void;
  readonly accounts: readonly Account[];
  readonly isNarrow: boolean;
  /** The folders are shown in a drawer instead of a column. */
  readonly isMedium: boolean;
  readonly searchField: RefObject<HTMLInputElement | null>;
  readonly help: () => void;
  readonly compose: () => void;
  readonly mayWrite: boolean;
  /** Opens a conversation. */
  readonly open: (conversation: number) => void;
}

/** The actions next to the title: search, compose and help; on narrow screens also the folders. */
export function PageActions({
  view,
  setView,
  accounts,
  isNarrow,
  isMedium,
  searchField,
  help,
  compose,
  mayWrite,
  open,
}: PageActionsProps): ReactNode {
  const t = useInboxTexts();
  const [opened, folders] = useDisclosure(false);
  const { q, here: _here, ...remaining } = view;
  return (
    <>
      {isMedium && (
        <>
          <IconButton icon="folder" label={t.folders} onClick={folders.open} />
          <Drawer opened={opened} onClose={folders.close} title={t.folders} size="17rem" position="left">
            <FolderPane
              accounts={accounts}
              view={view}
              setView={(next) => {
                folders.close();
                setView(next);
              }}
            />
          </Drawer>
        </>
      )}
      <SearchField
        value={q ?? ''}
        accounts={accounts}
        setView={setView}
        fieldRef={searchField}
        search={(text) => setView({ ...remaining, ...(text !== '' && { q: text }) })}
      />
      <NotificationBell open={open} />
      {mayWrite && isNarrow && (
        <IconButton icon="edit" variant="filled" color="verdigris" label={t.commands.compose} onClick={compose} />
      )}
      {mayWrite && !isNarrow && (
        <Button onClick={compose} leftSection={<Icon name="edit" />}>
          {t.compose.titles.new}
        </Button>
      )}
      {!isNarrow && <IconButton icon="help" label={t.commands.help} onClick={help} />}
    </>
  );
}

import { Button, Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode, RefObject } from 'react';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { FolderPane } from './folders/folder-pane.tsx';
import type { Shown } from './inbox-search.ts';
import type { Account } from './mail.ts';
import { SearchField } from './search-field.tsx';

interface PageActionsProps {
  readonly shown: Shown;
  readonly show: (shown: Shown) => void;
  readonly accounts: readonly Account[];
  readonly narrow: boolean;
  /** The folders have no column of their own. */
  readonly medium: boolean;
  readonly searchField: RefObject<HTMLInputElement | null>;
  readonly help: () => void;
  readonly compose: () => void;
  readonly mayWrite: boolean;
}

/** Beside the title: search, keys; on a phone the folders. */
export function PageActions({
  shown,
  show,
  accounts,
  narrow,
  medium,
  searchField,
  help,
  compose,
  mayWrite,
}: PageActionsProps): ReactNode {
  const t = useInboxTexts();
  const [opened, folders] = useDisclosure(false);
  const { q, here: _here, ...others } = shown;
  return (
    <>
      {medium && (
        <>
          <IconButton icon="folder" label={t.folders} onClick={folders.open} />
          <Drawer opened={opened} onClose={folders.close} title={t.folders} size="17rem" position="left">
            <FolderPane
              accounts={accounts}
              shown={shown}
              show={(next) => {
                folders.close();
                show(next);
              }}
            />
          </Drawer>
        </>
      )}
      <SearchField
        value={q ?? ''}
        fieldRef={searchField}
        search={(words) => show({ ...others, ...(words !== '' && { q: words }) })}
      />
      {mayWrite && narrow && (
        <IconButton icon="edit" variant="filled" color="verdigris" label={t.commands.compose} onClick={compose} />
      )}
      {mayWrite && !narrow && (
        <Button onClick={compose} leftSection={<Icon name="edit" />}>
          {t.compose.titles.new}
        </Button>
      )}
      {!narrow && <IconButton icon="info" label={t.commands.help} onClick={help} />}
    </>
  );
}

import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { hasFolderOperator, type InboxView, isFolderSearch } from '../inbox-search.ts';
import classes from './list-bar.module.css';

/** Shows which folders were searched, with a button to change it. */
export function SearchScope({ view, setView }: { view: InboxView; setView: (view: InboxView) => void }): ReactNode {
  const t = useInboxTexts().search;
  const { folderName } = useInboxTexts();
  const { q, here: _, folder = 'inbox', ...remaining } = view;
  if (q === undefined || hasFolderOperator(q)) return null;
  const isFolderOnly = isFolderSearch(view);
  // A search of all folders excludes the trash, so the view changes to the inbox.
  const everywhereView = { ...remaining, q, ...(folder !== 'inbox' && view.here && { folder }) };
  const otherScope = isFolderOnly
    ? everywhereView
    : { ...remaining, q, ...(folder !== 'inbox' && { folder }), here: true };
  return (
    <Text component="div" size="sm" c="dimmed" className={classes.where} role="status">
      {isFolderOnly ? t.inFolder(folderName(folder)) : t.inAll}{' '}
      {folder !== 'any' && (
        <Anchor component="button" size="sm" underline="always" onClick={() => setView(otherScope)}>
          {isFolderOnly ? t.searchAllFolders : t.onlyIn(folderName(folder))}
        </Anchor>
      )}
    </Text>
  );
}

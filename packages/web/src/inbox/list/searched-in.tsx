import { Anchor, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { namesFolder, type Shown, searchesFolder } from '../inbox-search.ts';
import classes from './list-bar.module.css';

/** Where a search has looked, and the other choice. */
export function SearchedIn({ shown, show }: { shown: Shown; show: (shown: Shown) => void }): ReactNode {
  const t = useInboxTexts().search;
  const { folderName } = useInboxTexts();
  const { q, here: _, folder = 'inbox', ...others } = shown;
  if (q === undefined || namesFolder(q)) return null;
  const narrow = searchesFolder(shown);
  // From the trash all folders are searched from the inbox: a search of all leaves it out.
  const everywhere = { ...others, q, ...(folder !== 'inbox' && shown.here && { folder }) };
  const change = narrow ? everywhere : { ...others, q, ...(folder !== 'inbox' && { folder }), here: true };
  return (
    <Text component="div" size="sm" c="dimmed" className={classes.where} role="status">
      {narrow ? t.inFolder(folderName(folder)) : t.inAll}{' '}
      {folder !== 'any' && (
        <Anchor component="button" size="sm" underline="always" onClick={() => show(change)}>
          {narrow ? t.lookEverywhere : t.onlyIn(folderName(folder))}
        </Anchor>
      )}
    </Text>
  );
}

import { Alert, Anchor, Button } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getErrorMessage, Problem } from '../../data/problem.tsx';
import type { RowWindow } from '../../data/records/row-window.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Waiting } from '../../ui/states.tsx';
import { useStore } from '../../ui/store.ts';
import { maxRows } from './grid-props.ts';
import { NothingFound } from './nothing-found.tsx';
import classes from './records-page.module.css';
import { type GoToSearch, isNarrowed, type RecordsSearch } from './records-search.ts';

interface RecordsStateProps {
  readonly collection: Collection;
  readonly rows: RowWindow;
  readonly search: RecordsSearch;
  readonly go: GoToSearch;
  readonly reload: () => void;
  /** A link to a new record, for users who may create one. */
  readonly create: ReactNode;
}

/** Everything that a list shows besides its rows: loading, errors, an empty list, and rows that are not shown. */
export function RecordsState({ collection, rows, search, go, reload, create }: RecordsStateProps): ReactNode {
  const t = useTexts().data.records;
  const { count, error } = useStore(rows);
  const clear = (): void => go({ q: undefined, filter: undefined });
  if (count === null)
    return error ? (
      <>
        <Problem error={error} retry={reload} permission={{ resource: collection.name, action: 'list' }} />
        {isNarrowed(search) && (
          <Button variant="subtle" mx="auto" onClick={clear}>
            {t.clearFilter}
          </Button>
        )}
      </>
    ) : (
      <div className={classes.waiting}>
        <Waiting rows={12} />
      </div>
    );
  return (
    <>
      {error && <RefreshError error={error} retry={() => rows.retry()} />}
      {count > maxRows && <p className={classes.note}>{t.tooMany(maxRows)}</p>}
      {count === 0 && (
        <NothingFound
          isNarrowed={isNarrowed(search)}
          trash={search.trash === true}
          clear={clear}
          leaveTrash={() => go({ trash: undefined })}
          create={create}
        />
      )}
    </>
  );
}

/** Rows are shown, but more of them could not be read. */
function RefreshError({ error, retry }: { error: Error; retry: () => void }): ReactNode {
  const t = useTexts().common;
  return (
    <Alert color="yellow" variant="light" role="status" icon={<Icon name="warning" />} className={classes.note}>
      {getErrorMessage(error)}{' '}
      <Anchor component="button" size="sm" onClick={retry}>
        {t.retry}
      </Anchor>
    </Alert>
  );
}

/** The page of a list: what it is, what narrows it, its rows, and the way to a new one for who may make one. */
import { Button, Modal, Stack } from '@mantine/core';
import type { List } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Icon, type IconName } from '../ui/icon.tsx';
import { type ListColumn, ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { Pager } from '../ui/pager.tsx';
import { Empty } from '../ui/states.tsx';
import { QueryBoundary } from './problem.tsx';
import { useMay } from './schema.ts';

/** A new one: in a dialog, whose form gets what closes it, or on a page of its own. */
type Creation =
  | { readonly label: string; readonly form: (close: () => void) => ReactNode }
  | { readonly link: ReactNode };

interface ListPageProps<T> {
  readonly title: string;
  readonly description: string;
  /** What is asked for: `list` of it shows the rows, `create` the way to a new one. */
  readonly resource: string;
  readonly query: UseQueryResult<readonly T[] | List<T>, Error>;
  readonly columns: readonly ListColumn<T>[];
  readonly keyOf: (row: T) => string | number;
  readonly create?: Creation;
  /** Instead of rows, where there are none; `next` is the way on, that to a new one unless told. */
  readonly empty?: {
    readonly icon: IconName;
    readonly title: string;
    readonly text: string;
    readonly next?: ReactNode;
  };
  /** Buttons beside the one for a new one. */
  readonly actions?: ReactNode;
  /** Stands above the rows. */
  readonly filters?: ReactNode;
  /** To another page of a long list. */
  readonly go?: (page: number) => void;
  /** Dialogs. */
  readonly children?: ReactNode;
}

export function ListPage<T>(props: ListPageProps<T>): ReactNode {
  const { title, description, resource, query, create, empty, actions, filters, children } = props;
  const may = useMay();
  const [creating, setCreating] = useState(false);
  const close = (): void => setCreating(false);
  // What nobody here could see again is not offered.
  const creation = create && may(resource, 'create') && may(resource, 'list') ? create : null;
  const createButton =
    creation &&
    ('link' in creation ? (
      creation.link
    ) : (
      <Button leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
        {creation.label}
      </Button>
    ));
  return (
    <Page
      title={title}
      description={description}
      actions={
        <>
          {actions}
          {createButton}
        </>
      }
    >
      <Stack>
        {filters}
        <QueryBoundary query={query} permission={{ resource, action: 'list' }}>
          {(found) => {
            const rows = 'meta' in found ? found.data : found;
            if (rows.length > 0 || !empty) return <Rows {...props} rows={rows} found={found} />;
            return (
              <Empty icon={empty.icon} title={empty.title} text={empty.text}>
                {empty.next ?? createButton}
              </Empty>
            );
          }}
        </QueryBoundary>
      </Stack>
      {creation && 'form' in creation && (
        <Modal opened={creating} onClose={close} title={creation.label}>
          {creation.form(close)}
        </Modal>
      )}
      {children}
    </Page>
  );
}

interface RowsProps<T> extends ListPageProps<T> {
  readonly rows: readonly T[];
  readonly found: readonly T[] | List<T>;
}

function Rows<T>({ title, rows, found, columns, keyOf, go }: RowsProps<T>): ReactNode {
  const meta = 'meta' in found ? found.meta : null;
  return (
    <>
      <ListTable label={title} rows={rows} columns={columns} keyOf={keyOf} />
      {meta && go && (
        <Pager page={meta.page ?? 1} totalPage={meta.totalPage ?? 1} count={meta.count ?? rows.length} go={go} />
      )}
    </>
  );
}

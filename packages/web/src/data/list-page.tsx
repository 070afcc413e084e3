/** The page of a list: title, filters, rows, and a button to create an entry for users who may do so. */
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

/** How an entry is created: in a dialog, whose form receives a function that closes it, or on a separate page. */
type Creation =
  | { readonly label: string; readonly form: (close: () => void) => ReactNode }
  | { readonly link: ReactNode };

interface ListPageProps<T> {
  readonly title: string;
  readonly description: string;
  /** The resource. Its `list` permission shows the rows, its `create` permission the create button. */
  readonly resource: string;
  readonly query: UseQueryResult<readonly T[] | List<T>, Error>;
  readonly columns: readonly ListColumn<T>[];
  readonly keyOf: (row: T) => string | number;
  readonly create?: Creation;
  /** Shown while there are no rows. `next` is the suggested next step; the create button by default. */
  readonly empty?: {
    readonly icon: IconName;
    readonly title: string;
    readonly text: string;
    readonly next?: ReactNode;
  };
  /** Buttons next to the create button. */
  readonly actions?: ReactNode;
  /** Shown above the rows. */
  readonly filters?: ReactNode;
  /** The pager of a long list. */
  readonly go?: (page: number) => void;
  /** Dialogs. */
  readonly children?: ReactNode;
}

export function ListPage<T>(props: ListPageProps<T>): ReactNode {
  const { title, description, resource, query, create, empty, actions, filters, children } = props;
  const may = useMay();
  const [creating, setCreating] = useState(false);
  const close = (): void => setCreating(false);
  // Without the permission to list entries, creating them is not offered.
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

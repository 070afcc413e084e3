/** A plain table of a list that fits on a page: roles, keys, sessions. It scrolls sideways by itself on a phone. */
import { ScrollArea, Table } from '@mantine/core';
import type { ReactNode } from 'react';

export interface ListColumn<T> {
  readonly title: string;
  readonly render: (row: T) => ReactNode;
  /** Numbers stand right, in figures of one width. */
  readonly number?: boolean;
  readonly width?: number | string;
}

interface ListTableProps<T> {
  /** What the table is, for readers of the page. */
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly ListColumn<T>[];
  readonly keyOf: (row: T) => string | number;
}

export function ListTable<T>({ label, rows, columns, keyOf }: ListTableProps<T>): ReactNode {
  return (
    <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': label }}>
      <Table highlightOnHover verticalSpacing={7} horizontalSpacing="sm" aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, number, width }) => (
              <Table.Th key={title} ta={number ? 'right' : 'left'} w={width} c="dimmed" fw={500} fz="sm">
                {title || <span className="visually-hidden">…</span>}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={keyOf(row)}>
              {columns.map(({ title, render, number }) => (
                <Table.Td key={title} ta={number ? 'right' : 'left'} {...(number && { className: 'tabular' })}>
                  {render(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

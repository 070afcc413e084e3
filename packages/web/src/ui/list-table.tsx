/** A plain table for short lists such as roles, API keys and sessions. It scrolls sideways on narrow screens. */
import { ScrollArea, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from './i18n/texts.tsx';

export interface ListColumn<T> {
  /** Empty for the buttons of a row. */
  readonly title: string;
  readonly render: (row: T) => ReactNode;
  /** Aligns numbers to the right with tabular figures. */
  readonly number?: boolean;
  readonly width?: number | string;
}

interface ListTableProps<T> {
  /** The accessible name of the table. */
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly ListColumn<T>[];
  readonly keyOf: (row: T) => string | number;
}

export function ListTable<T>({ label, rows, columns, keyOf }: ListTableProps<T>): ReactNode {
  const { actions } = useTexts().common;
  return (
    <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': label }}>
      <Table highlightOnHover verticalSpacing={7} horizontalSpacing="sm" aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, number, width }) => (
              <Table.Th key={title} ta={number ? 'right' : 'left'} w={width} c="dimmed" fw={500} fz="sm">
                {title || <span className="visually-hidden">{actions}</span>}
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

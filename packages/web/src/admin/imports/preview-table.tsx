import { ScrollArea, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import type { ImportPreview } from './dto.ts';
import classes from './steps.module.css';

/** One shown column: its title, and its index in the rows. */
export interface ShownColumn {
  readonly title: string;
  readonly index: number;
}

/** The first rows of a file, with the columns that are imported. */
export function PreviewTable({
  preview,
  columns,
}: {
  readonly preview: Pick<ImportPreview, 'rows'>;
  readonly columns: readonly ShownColumn[];
}): ReactNode {
  const t = useImportTexts().mapping;
  const rows = preview.rows.map((cells, index) => ({ cells, id: index }));
  return (
    <ScrollArea
      type="auto"
      offsetScrollbars="x"
      viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t.preview }}
    >
      <Table className={classes.preview} aria-label={t.preview} verticalSpacing={5} horizontalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, index }) => (
              <Table.Th key={index} c="dimmed" fw={500} fz="sm">
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ cells, id }) => (
            <Table.Tr key={id}>
              {columns.map(({ index }) => (
                <Table.Td key={index} fz="sm" title={cells[index] ?? ''}>
                  {cells[index] ?? ''}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

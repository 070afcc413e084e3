import { ScrollArea, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { ImportPreview, RowError, RowProblem } from './dto.ts';
import classes from './steps.module.css';

/** An imported column: its title, its index in the rows, and its field. */
export interface CheckedColumn {
  readonly title: string;
  readonly index: number;
  readonly field: string;
}

interface CheckedRowsProps {
  readonly preview: Pick<ImportPreview, 'rows' | 'lines'>;
  readonly columns: readonly CheckedColumn[];
  readonly errors: readonly RowError[];
}

interface CheckedRow {
  readonly line: number;
  readonly cells: readonly (string | null)[];
  readonly error: RowError | null;
}

/** Bad rows that are shown; the list next to it has all of them. */
const maxBadRows = 50;

/** The first rows of a file and the bad ones, as a table in which the bad cells are marked. */
export function CheckedRows({ preview, columns, errors }: CheckedRowsProps): ReactNode {
  const t = useImportTexts().check;
  return (
    <ScrollArea.Autosize
      mah="26rem"
      type="auto"
      offsetScrollbars
      viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t.inPlace }}
    >
      <Table className={classes.preview} aria-label={t.inPlace} verticalSpacing={5} horizontalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th c="dimmed" fw={500} fz="sm" ta="end">
              {t.line}
            </Table.Th>
            {columns.map(({ title, index }) => (
              <Table.Th key={index} c="dimmed" fw={500} fz="sm">
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {listRows(preview, errors).map((row) => (
            <Row key={row.line} row={row} columns={columns} />
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}

function Row({
  row: { line, cells, error },
  columns,
}: {
  readonly row: CheckedRow;
  readonly columns: readonly CheckedColumn[];
}): ReactNode {
  const problems = error === null ? [] : [error, ...error.others];
  const listProblems = (column: CheckedColumn): readonly RowProblem[] =>
    problems.filter(({ field }) => field === column.field);
  // Problems of the whole row, or of a field that has no column in the file.
  const rowProblems = problems.filter((each) => !columns.some(({ field }) => field === each.field));
  return (
    <Table.Tr data-bad={error !== null || undefined}>
      <Table.Td fz="sm" ta="end" className="tabular" data-bad={rowProblems.length > 0 || undefined}>
        {line.toLocaleString('en')}
        <Reasons problems={rowProblems} />
      </Table.Td>
      {columns.map((column) => (
        <Table.Td
          key={column.index}
          fz="sm"
          title={cells[column.index] ?? ''}
          data-bad={listProblems(column).length > 0 || undefined}
        >
          {cells[column.index] ?? ''}
          <Reasons problems={listProblems(column)} />
        </Table.Td>
      ))}
    </Table.Tr>
  );
}

function Reasons({ problems }: { readonly problems: readonly RowProblem[] }): ReactNode {
  const reasons = [...new Set(problems.map(({ reason }) => reason))];
  return reasons.map((reason) => (
    <span key={reason} className={classes.reason}>
      <Icon name="warning" size={14} />
      <span>{reason}</span>
    </span>
  ));
}

/** In the order of the file. */
function listRows({ rows, lines }: CheckedRowsProps['preview'], errors: readonly RowError[]): CheckedRow[] {
  const byLine = new Map<number, CheckedRow>(
    rows.map((cells, index) => [lines[index] ?? 0, { line: lines[index] ?? 0, cells, error: null }]),
  );
  for (const error of errors.filter(({ cells }) => cells).slice(0, maxBadRows))
    byLine.set(error.line, { line: error.line, cells: error.cells ?? [], error });
  return [...byLine.values()].sort((one, other) => one.line - other.line);
}

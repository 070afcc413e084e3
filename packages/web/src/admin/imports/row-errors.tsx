import { Select, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Pager } from '../../ui/pager.tsx';
import type { RowError, RowProblem } from './dto.ts';

const errorsPerPage = 50;

/** The refused rows of a file, each with its line, column, value and reason. */
export function RowErrors({
  errors,
  truncated,
}: {
  readonly errors: readonly RowError[];
  /** There are more errors than listed. */
  readonly truncated: boolean;
}): ReactNode {
  const t = useImportTexts().check;
  const [column, setColumn] = useState('');
  const [page, setPage] = useState(1);
  const problems = errors.flatMap(({ line, others, ...first }) =>
    [first, ...others].map((each) => ({ ...each, line })),
  );
  const columns = [...new Set(problems.map(getColumn))];
  const found = column === '' ? problems : problems.filter((problem) => getColumn(problem) === column);
  const numbered = found.map((error, index) => ({ ...error, id: index }));
  const totalPage = Math.max(1, Math.ceil(found.length / errorsPerPage));
  return (
    <Stack gap="xs">
      {columns.length > 1 && (
        <Select
          label={t.filterColumn}
          data={[
            { value: '', label: t.allColumns(problems.length) },
            ...columns
              .filter((name) => name !== '')
              .map((name) => ({
                value: name,
                label: t.columnErrors(name, problems.filter((problem) => getColumn(problem) === name).length),
              })),
          ]}
          value={column}
          onChange={(next) => {
            setColumn(next ?? '');
            setPage(1);
          }}
          allowDeselect={false}
          maw={360}
        />
      )}
      <ListTable
        label={t.errors}
        rows={numbered.slice((page - 1) * errorsPerPage, page * errorsPerPage)}
        keyOf={({ id }) => id}
        columns={[
          { title: t.line, number: true, width: 70, render: ({ line }) => line.toLocaleString('en') },
          { title: t.column, render: (error) => <LongText width={70}>{getColumn(error)}</LongText> },
          { title: t.value, render: ({ value }) => <LongText width={90}>{formatCell(value)}</LongText> },
          { title: t.reason, render: ({ reason }) => <LongText width={180}>{reason}</LongText> },
        ]}
      />
      {totalPage > 1 && <Pager page={page} totalPage={totalPage} count={found.length} go={setPage} />}
      {truncated && (
        <Text size="sm" c="dimmed">
          {t.truncated(errors.length)}
        </Text>
      )}
    </Stack>
  );
}

function getColumn({ column, field }: RowProblem): string {
  return column ?? field ?? '';
}

const maxShown = 200;

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

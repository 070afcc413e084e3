import { Alert, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { listWrites, type PastedCell, type PastePlan } from './paste-plan.ts';
import { PasteRefused } from './paste-write.ts';
import type { GridPaste } from './use-grid-paste.ts';

/** Problems in the list; the others are counted. */
const maxListed = 100;

/** Shows what a paste will change, with its invalid cells, before anything is written. */
export function PasteDialog({ pending, confirm, cancel }: GridPaste): ReactNode {
  const t = useImportTexts().paste;
  return (
    <Modal opened={pending !== null} onClose={cancel} title={t.title} size="lg">
      {pending && <PasteSummary plan={pending} confirm={confirm} cancel={cancel} />}
    </Modal>
  );
}

interface PasteSummaryProps extends Pick<GridPaste, 'confirm' | 'cancel'> {
  readonly plan: PastePlan;
}

function PasteSummary({ plan: given, confirm, cancel }: PasteSummaryProps): ReactNode {
  const t = useImportTexts().paste;
  const [plan, setPlan] = useState(given);
  // The refusal of a cell is shown with the other invalid cells.
  const [isRefused, setRefused] = useState(false);
  const write = useMutation({
    mutationFn: () => confirm(plan),
    onError: (error) => {
      const marked = error instanceof PasteRefused ? markRefused(plan, error) : plan;
      setRefused(marked !== plan);
      setPlan(marked);
    },
  });
  const problems = listProblems(plan);
  const writes = listWrites(plan);
  const changed = writes.filter(({ row }) => row !== null).length;
  return (
    <DialogForm
      write={{ mutate: () => write.mutate(), isPending: write.isPending, error: isRefused ? null : write.error }}
      submitLabel={problems.length > 0 ? t.submitValid : t.submit}
      cancel={cancel}
      isReady={writes.length > 0}
    >
      <List size="sm">
        {changed > 0 && <List.Item>{t.changes(changed)}</List.Item>}
        {writes.length > changed && <List.Item>{t.creates(writes.length - changed)}</List.Item>}
        {writes.length === 0 && <List.Item>{t.nothingValid}</List.Item>}
        {plan.readOnlyColumns.length > 0 && <List.Item>{t.readOnlyColumns(plan.readOnlyColumns.join(', '))}</List.Item>}
        {plan.skippedRows > 0 && <List.Item>{t.skippedRows(plan.skippedRows)}</List.Item>}
        {plan.skippedColumns > 0 && <List.Item>{t.skippedColumns(plan.skippedColumns)}</List.Item>}
      </List>
      {problems.length > 0 && <InvalidCells problems={problems} isRefused={isRefused} />}
    </DialogForm>
  );
}

interface InvalidCell extends PastedCell {
  readonly index: number;
}

function listProblems({ rows }: PastePlan): InvalidCell[] {
  return rows.flatMap(({ index, cells }) =>
    cells.filter(({ problem }) => problem !== null).map((cell) => ({ ...cell, index })),
  );
}

/** The position of the cell that the server has refused, in the rows of the plan. */
function findRefusedCell(plan: PastePlan, { write, member }: PasteRefused): { row: number; cell: number } | null {
  const index = write === null ? undefined : listWrites(plan)[write]?.index;
  const row = plan.rows.findIndex((each) => each.index === index);
  const cell = plan.rows[row]?.cells.findIndex(({ field }) => getWriteName(field) === member) ?? -1;
  return cell < 0 ? null : { row, cell };
}

/** The plan with the refusal of the server at its cell. */
function markRefused(plan: PastePlan, error: PasteRefused): PastePlan {
  const found = findRefusedCell(plan, error);
  if (!found) return plan;
  const rows = plan.rows.map((each, row) =>
    row === found.row
      ? {
          ...each,
          cells: each.cells.map((cell, at) => (at === found.cell ? { ...cell, problem: error.message } : cell)),
        }
      : each,
  );
  return { ...plan, rows };
}

function InvalidCells({
  problems,
  isRefused,
}: {
  readonly problems: readonly InvalidCell[];
  readonly isRefused: boolean;
}): ReactNode {
  const t = useImportTexts().paste;
  return (
    <Stack gap="xs">
      <Alert
        color="yellow"
        variant="light"
        role="alert"
        icon={<Icon name="warning" />}
        title={t.invalid(problems.length)}
      >
        {isRefused ? t.refused : t.leftOut}
      </Alert>
      <ListTable
        label={t.invalidList}
        rows={problems.slice(0, maxListed)}
        keyOf={({ index, field }) => `${index} ${field.name}`}
        columns={[
          { title: t.row, number: true, width: 60, render: ({ index }) => (index + 1).toLocaleString('en') },
          { title: t.column, render: ({ field }) => <LongText width={70}>{getTitle(field)}</LongText> },
          { title: t.value, render: ({ text }) => <LongText width={90}>{text}</LongText> },
          { title: t.reason, render: ({ problem }) => <LongText width={180}>{problem}</LongText> },
        ]}
      />
      {problems.length > maxListed && <Text size="sm">{t.more(problems.length - maxListed)}</Text>}
    </Stack>
  );
}

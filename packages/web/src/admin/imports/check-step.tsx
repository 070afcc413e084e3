/** The third step: all rows are checked without changing anything, and the refused ones are listed. */
import { Alert, Button, Group, Stack, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import { Waiting } from '../../ui/states.tsx';
import { CheckedRows } from './checked-rows.tsx';
import type { ColumnMapping, DryRunReport, ImportPreview, ImportRecord, ImportRequest } from './dto.ts';
import { runDryRun, startImport } from './import-queries.ts';
import { RowErrors } from './row-errors.tsx';
import { Figures, StepHeading } from './steps.tsx';

interface CheckStepProps {
  readonly collection: string;
  readonly request: ImportRequest;
  readonly preview: ImportPreview;
  readonly back: () => void;
  /** Receives the import that was started. */
  readonly done: (started: ImportRecord) => void;
}

export function CheckStep({ collection, request, preview, back, done }: CheckStepProps): ReactNode {
  const t = useImportTexts().check;
  // Each visit of this step checks again: the records may have changed since.
  const [visit] = useState(createIdempotencyKey);
  const report = useApiQuery(
    ['importCheck', collection, visit],
    (client, signal) => runDryRun(client, collection, request, signal),
    { staleTime: Number.POSITIVE_INFINITY },
  );
  const waiting = (
    <Stack role="status" gap="xs">
      {t.checking}
      <Waiting rows={6} />
    </Stack>
  );
  return (
    <Stack>
      <StepHeading>{t.title}</StepHeading>
      <QueryBoundary query={report} waiting={waiting} permission={{ resource: collection, action: 'import' }}>
        {(data) => (
          <CheckedImport report={data} {...{ collection, request, preview, done, back }} idempotencyKey={visit} />
        )}
      </QueryBoundary>
      {report.data === undefined && (
        <Group>
          <Button variant="default" onClick={back}>
            {t.back}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface CheckedImportProps extends CheckStepProps {
  readonly report: DryRunReport;
  readonly idempotencyKey: string;
}

function CheckedImport(props: CheckedImportProps): ReactNode {
  const { report, collection, request, preview, back, done, idempotencyKey } = props;
  const t = useImportTexts().check;
  const app = useApplication();
  const { created, updated, refused } = report;
  const written = created + updated;
  const start = useMutation({
    mutationFn: () =>
      startImport(
        getClient(app),
        collection,
        { ...request, ...(refused > 0 && { skipInvalid: true }) },
        idempotencyKey,
      ),
    onSuccess: done,
  });
  return (
    <Report
      report={report}
      preview={preview}
      mapping={request.mapping}
      start={start}
      label={refused > 0 ? t.startWithout(written, refused) : t.start(written)}
      isReady={written > 0}
      back={back}
    />
  );
}

interface ReportProps {
  readonly report: DryRunReport;
  readonly preview: ImportPreview;
  readonly mapping: readonly ColumnMapping[];
  /** What the button below starts. */
  readonly start: { readonly mutate: () => void; readonly isPending: boolean; readonly error: Error | null };
  readonly label: string;
  readonly isReady: boolean;
  readonly back: () => void;
}

/** What an import would do, with its bad rows, and the button that starts it. */
export function Report({ report, preview, mapping, start, label, isReady, back }: ReportProps): ReactNode {
  const t = useImportTexts().check;
  const unnamed = useImportTexts().mapping.unnamed;
  const { rows, created, updated, refused, errors, truncated } = report;
  const columns = mapping.map(({ column, field }) => {
    const index = preview.columns.findIndex((each) => each.index === column);
    return { index, field, title: preview.columns[index]?.name || unnamed(column + 1) };
  });
  const format = (n: number): string => n.toLocaleString('en');
  return (
    <Stack>
      <Figures
        items={[
          [t.rows, format(rows)],
          [t.created, format(created)],
          [t.updated, format(updated)],
          [t.refused, format(refused)],
        ]}
      />
      <Alert
        color={refused > 0 ? 'yellow' : 'green'}
        variant="light"
        role="status"
        icon={<Icon name={refused > 0 ? 'warning' : 'check'} />}
      >
        {describePlan(report, t)}
      </Alert>
      {errors.length > 0 && (
        <section>
          <Title order={3} mb="xs">
            {t.inPlace}
          </Title>
          <CheckedRows preview={preview} columns={columns} errors={errors} />
        </section>
      )}
      {errors.length > 0 && (
        <section>
          <Title order={3} mb="xs">
            {t.errors}
          </Title>
          <RowErrors errors={errors} truncated={truncated} />
        </section>
      )}
      <FormProblem error={start.error} />
      <Group justify="space-between">
        <Button variant="default" onClick={back} disabled={start.isPending}>
          {t.back}
        </Button>
        <PendingButton pending={start.isPending} disabled={!isReady} onClick={() => start.mutate()}>
          {label}
        </PendingButton>
      </Group>
    </Stack>
  );
}

/** What the import will do, in one or two sentences. */
function describePlan(
  { rows, created, updated, refused }: DryRunReport,
  t: ReturnType<typeof useImportTexts>['check'],
): string {
  if (rows === 0) return t.noRows;
  if (created + updated === 0) return t.allRefused(refused);
  return [t.will(created, updated), ...(refused > 0 ? [t.willRefuse(refused)] : [])].join(' ');
}

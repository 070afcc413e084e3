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
import type { DryRunReport, ImportRecord, ImportRequest } from './dto.ts';
import { runDryRun, startImport } from './import-queries.ts';
import { RowErrors } from './row-errors.tsx';
import { Figures, StepHeading } from './steps.tsx';

interface CheckStepProps {
  readonly collection: string;
  readonly request: ImportRequest;
  readonly back: () => void;
  /** Receives the import that was started. */
  readonly done: (started: ImportRecord) => void;
}

export function CheckStep({ collection, request, back, done }: CheckStepProps): ReactNode {
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
        {(data) => <Report report={data} {...{ collection, request, done, back }} idempotencyKey={visit} />}
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

interface ReportProps extends CheckStepProps {
  readonly report: DryRunReport;
  readonly idempotencyKey: string;
}

function Report({ report, collection, request, back, done, idempotencyKey }: ReportProps): ReactNode {
  const t = useImportTexts().check;
  const app = useApplication();
  const { rows, created, updated, refused, errors, truncated } = report;
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
        <PendingButton pending={start.isPending} disabled={written === 0} onClick={() => start.mutate()}>
          {refused > 0 ? t.startWithout(written, refused) : t.start(written)}
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

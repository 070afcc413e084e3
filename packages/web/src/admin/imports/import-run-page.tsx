/** One import: its progress while it runs, and its result afterwards. */
import { Alert, Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication, useClient } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { saveReply } from '../../data/save-reply.ts';
import { useSchema } from '../../data/schema.ts';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type ImportRecord, isRunning } from './dto.ts';
import { useImport } from './import-queries.ts';
import { getProgress, ImportStateBadge } from './import-state.tsx';
import { Figures } from './steps.tsx';

export function ImportRunPage(): ReactNode {
  const { import: id = '' } = useParams({ strict: false });
  const t = useImportTexts();
  const app = useApplication();
  const query = useImport(id);
  const above = (
    <TextLink to="/a/$app/imports" params={{ app }}>
      {t.list.title}
    </TextLink>
  );
  return (
    <Page title={query.data?.filename ?? t.run.title(id)} above={above}>
      <QueryBoundary query={query} permission={{ resource: 'imports', action: 'get' }}>
        {(record) => <ImportRun record={record} />}
      </QueryBoundary>
    </Page>
  );
}

function ImportRun({ record }: { readonly record: ImportRecord }): ReactNode {
  const t = useImportTexts().run;
  const format = (n: number): string => n.toLocaleString('en');
  const { collection, rows, processed, created, updated, refused, mode, createdAt, endedAt } = record;
  const { data: schema } = useSchema();
  const target = schema?.byName.get(collection);
  const isOpen = isRunning(record);
  return (
    <Stack>
      <Group gap="sm">
        <Title order={2}>{t.headings[record.status](target ? getTitle(target) : collection)}</Title>
        <ImportStateBadge record={record} />
      </Group>
      <Progress.Root>
        <Progress.Section
          value={getProgress(record) ?? 100}
          animated={isOpen && getProgress(record) === null}
          aria-label={t.progress}
          {...(getProgress(record) === null && { 'aria-valuenow': undefined, 'aria-valuetext': t.counting })}
          {...(record.status === 'failed' && { color: 'red' })}
        />
      </Progress.Root>
      <Text size="sm" c="dimmed" className="tabular" role="status">
        {rows === null ? t.processed(processed) : t.processedOf(processed, rows)}
      </Text>
      <Figures
        items={[
          ...(mode === 'update' ? [] : [[t.created, format(created)] as const]),
          ...(mode === 'create' ? [] : [[t.updated, format(updated)] as const]),
          [t.refused, format(refused)],
        ]}
      />
      {record.error && (
        <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} title={t.failed}>
          {record.error}
        </Alert>
      )}
      {isOpen ? <RunningPart record={record} /> : <ResultPart record={record} />}
      <Text size="sm" c="dimmed">
        {t.started} <DateTime value={createdAt} />
        {endedAt && (
          <>
            {' · '}
            {t.ended} <DateTime value={endedAt} exact />
          </>
        )}
      </Text>
    </Stack>
  );
}

function RunningPart({ record }: { readonly record: ImportRecord }): ReactNode {
  const t = useImportTexts().run;
  const cancel = useActionMutation({
    write: (client) => client.post('imports:cancel', undefined, { filterByTk: record.id }),
    changes: ['imports'],
  });
  const askCancel = async (): Promise<void> => {
    if (await confirm({ title: t.cancelTitle, text: t.cancelText, confirmLabel: t.cancel, danger: true }))
      await cancel();
  };
  return (
    <Group justify="space-between">
      <Text size="sm">{t.leave}</Text>
      <Button variant="default" onClick={() => void askCancel()}>
        {t.cancel}
      </Button>
    </Group>
  );
}

function ResultPart({ record }: { readonly record: ImportRecord }): ReactNode {
  const t = useImportTexts().run;
  const app = useApplication();
  const { collection, refused } = record;
  const params = { app, collection };
  return (
    <Stack>
      {refused > 0 && <RefusedRows record={record} />}
      <Group>
        <ButtonLink to="/a/$app/data/$collection" params={params}>
          {t.showRecords}
        </ButtonLink>
        <ButtonLink variant="default" to="/a/$app/data/$collection/import" params={params} search={{}}>
          {t.another}
        </ButtonLink>
      </Group>
    </Stack>
  );
}

/** Downloads the refused rows with their reasons, to be corrected and imported again. */
function RefusedRows({ record }: { readonly record: ImportRecord }): ReactNode {
  const t = useImportTexts().run;
  const client = useClient();
  const [saving, setSaving] = useState<'csv' | 'xlsx' | null>(null);
  const save = async (format: 'csv' | 'xlsx'): Promise<void> => {
    setSaving(format);
    try {
      await saveReply(await client.send('imports:refusedRows', { query: { filterByTk: record.id, format } }), () => {});
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    } finally {
      setSaving(null);
    }
  };
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t.refusedTitle(record.refused)}>
      <Stack gap="xs">
        <Text size="sm">{t.refusedText}</Text>
        <Group gap="xs">
          {(['csv', 'xlsx'] as const).map((format) => (
            <PendingButton
              key={format}
              size="compact-sm"
              variant="default"
              pending={saving === format}
              onClick={() => void save(format)}
            >
              {t.download[format]}
            </PendingButton>
          ))}
        </Group>
      </Stack>
    </Alert>
  );
}

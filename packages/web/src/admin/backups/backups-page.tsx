import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import type { Backup, BackupSchedule, List } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { useApiQuery, useApplications } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { DateTime, formatDateTime } from '../../ui/date-time.tsx';
import { useBackupTexts } from '../../ui/i18n/backup-texts.ts';
import type { ListColumn } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { saveAddress } from '../../ui/save-file.ts';
import { formatSize } from '../../ui/size-text.ts';
import { toast } from '../../ui/toasts.tsx';
import { StateBadge } from '../access/badges.tsx';
import { MainApplicationOnly, mainApplicationName } from '../applications/application-parts.tsx';
import { RestoreDialog } from './restore-dialog.tsx';

/** Milliseconds between two reads while a backup runs, and otherwise. */
const runningInterval = 1000;
const idleInterval = 30_000;

/** Backups of the server: only in main, for administrators. */
export function BackupsPage(): ReactNode {
  const t = useBackupTexts();
  if (useApplication() === mainApplicationName) return <Backups />;
  return (
    <Page title={t.title} description={t.description}>
      <MainApplicationOnly />
    </Page>
  );
}

function Backups(): ReactNode {
  const t = useBackupTexts();
  const [restoring, setRestoring] = useState<Backup | null>(null);
  const query = useApiQuery(['backups', 'list'], (client) => client.backups().list(), {
    refetchInterval: ({ state: { data } }) =>
      data?.data.some(({ status }) => status === 'running') ? runningInterval : idleInterval,
  });
  return (
    <ListPage<Backup>
      title={t.title}
      description={t.description}
      resource="backups"
      query={query as unknown as UseQueryResult<List<Backup>, Error>}
      create={{ label: t.create, form: (close) => <NewBackup cancel={close} /> }}
      empty={{ icon: 'archive', title: t.empty, text: t.description }}
      keyOf={({ id }) => id}
      filters={query.data && <Schedule schedule={query.data.meta} />}
      columns={useColumns(setRestoring)}
    >
      {restoring && <RestoreDialog backup={restoring} close={() => setRestoring(null)} />}
    </ListPage>
  );
}

function Schedule({ schedule: { nextAt, keep, isEncrypted, bucket } }: { schedule: BackupSchedule }): ReactNode {
  const t = useBackupTexts();
  return (
    <Text c="dimmed" size="sm">
      {nextAt === null ? t.noSchedule : t.schedule(formatDateTime(nextAt), keep)} {bucket !== null && t.bucket(bucket)}{' '}
      {isEncrypted && t.encrypted}
    </Text>
  );
}

function useColumns(restore: (backup: Backup) => void): readonly ListColumn<Backup>[] {
  const t = useBackupTexts();
  return [
    { title: t.started, render: (each) => <DateTime value={each.startedAt} /> },
    { title: t.content, render: (each) => <Content backup={each} /> },
    { title: t.status, render: (each) => <Status backup={each} /> },
    {
      title: t.size,
      number: true,
      render: ({ bytes }) => <span className="nowrap">{bytes === null ? '' : formatSize(bytes)}</span>,
    },
    { title: t.rows, number: true, render: ({ rows }) => rows?.toLocaleString() ?? '' },
    { title: t.reason, render: ({ reason }) => t.reasons[reason ?? 'cli'] },
    { title: '', render: (each) => <Actions backup={each} restore={() => restore(each)} /> },
  ];
}

function Content({ backup }: { backup: Backup }): ReactNode {
  const t = useBackupTexts();
  const { kind, application, applications, isEncrypted, keptAs } = backup;
  const names = application ?? (applications.length > 0 ? applications.join(', ') : t.all);
  return (
    <Stack gap={0}>
      <span>
        {kind === 'restore' ? t.restoreOf(names) : names}
        {isEncrypted && <span className="quiet"> ({t.isEncrypted})</span>}
      </span>
      {keptAs !== null && (
        <Text size="xs" c="dimmed">
          {t.keptAs(keptAs)}
        </Text>
      )}
    </Stack>
  );
}

function describeProgress(
  { done, total, bytes, storedBytes }: NonNullable<Backup['progress']>,
  t: ReturnType<typeof useBackupTexts>,
): string {
  if (storedBytes !== null) return t.storing(formatSize(storedBytes), formatSize(bytes));
  return t.progress(done, total, formatSize(bytes));
}

function Status({ backup: { kind, status, progress, problem, isAvailable, machine } }: { backup: Backup }): ReactNode {
  const t = useBackupTexts();
  const tone = ({ done: 'good', failed: 'bad', running: 'careful' } as const)[status];
  const isElsewhere = kind === 'backup' && status === 'done' && !isAvailable;
  const note = problem ?? (progress && describeProgress(progress, t)) ?? (isElsewhere ? t.elsewhere(machine) : null);
  return (
    <Stack gap={2} align="flex-start" maw={360}>
      <StateBadge tone={tone}>{t.statuses[status]}</StateBadge>
      {note !== null && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Stack>
  );
}

function Actions({ backup, restore }: { backup: Backup; restore: () => void }): ReactNode {
  const t = useBackupTexts();
  const may = useMay();
  const { id, kind, status, isAvailable } = backup;
  const download = useActionMutation({
    write: (client) => client.backups().sign(id),
    changes: [],
    done: ({ url }) => saveAddress(url, `${id}.tar`),
  });
  const destroy = useActionMutation({
    write: (client) => client.backups().destroy(id),
    changes: ['backups'],
    done: () => toast(t.destroyed),
  });
  const confirmDestroy = async (): Promise<void> => {
    const question = { title: t.destroyTitle(id), text: t.destroyText, confirmLabel: t.destroy, danger: true };
    if (!isAvailable || (await confirm(question))) await destroy();
  };
  const named = (label: string): ReactNode => (
    <>
      {label}
      <span className="visually-hidden"> {id}</span>
    </>
  );
  if (status === 'running') return null;
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      {kind === 'backup' && isAvailable && (
        <>
          <Button size="compact-sm" variant="default" onClick={() => void download()}>
            {named(t.download)}
          </Button>
          {may('backups', 'restore') && (
            <Button size="compact-sm" variant="default" onClick={restore}>
              {named(t.restore)}
            </Button>
          )}
        </>
      )}
      <Button size="compact-sm" variant="default" onClick={() => void confirmDestroy()}>
        {named(isAvailable ? t.destroy : t.removeReport)}
      </Button>
    </Group>
  );
}

function NewBackup({ cancel }: { cancel: () => void }): ReactNode {
  const t = useBackupTexts();
  const applications = useApplications(true).data ?? [];
  const [application, setApplication] = useState('');
  const create = useApiMutation({
    write: (client) => client.backups().create(application === '' ? undefined : application),
    changes: ['backups'],
    done: () => {
      toast(t.begun);
      cancel();
    },
  });
  const names = applications.map(({ name }) => name).filter((name) => name !== mainApplicationName);
  return (
    <DialogForm write={create} submitLabel={t.create} cancel={cancel}>
      <NativeSelect
        label={t.what}
        data={[{ value: '', label: t.all }, ...names]}
        value={application}
        onChange={(event) => setApplication(event.currentTarget.value)}
        data-autofocus
      />
    </DialogForm>
  );
}

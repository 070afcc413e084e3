import { Autocomplete, Button, FileButton, Group, List, Progress, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { FormProblem } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink } from '../../ui/links.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { toast } from '../../ui/toasts.tsx';
import { type AccountRecord, accountKeys } from './account-data.ts';
import { type ImportReport, importMail } from './mail-upload.ts';

interface ImportJob {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly sentBytes: number;
  readonly report: ImportReport | null;
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  readonly error: unknown;
}

/** Imports a file of messages into an account; shows the progress and the result. */
export function ImportSection({ account }: { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().accounts.import;
  const application = useApplication();
  const [folder, setFolder] = useState('INBOX');
  const [job, setJob] = useState<ImportJob | null>(null);
  const stop = useRef<AbortController | null>(null);
  const resetFileInput = useRef<() => void>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const start = async (file: File): Promise<void> => {
    const controller = new AbortController();
    stop.current = controller;
    const { name, size } = file;
    setJob({ name, size, sentBytes: 0, report: null, state: 'running', error: null });
    const change = (part: Partial<ImportJob>): void => setJob((before) => before && { ...before, ...part });
    try {
      const onProgress = (sentBytes: number, report: ImportReport): void => change({ sentBytes, report });
      const destination = { account: account.id, mailbox: folder.trim() || 'INBOX' };
      await importMail(getClient(application), { ...destination, file, onProgress, signal: controller.signal });
      change({ state: 'done' });
      toast(t.done(name));
    } catch (error) {
      change(controller.signal.aborted ? { state: 'stopped' } : { state: 'failed', error });
    }
    for (const key of accountKeys) void invalidate(application, key);
  };
  const isRunning = job?.state === 'running';
  return (
    <Section title={t.title} text={t.text}>
      <Stack gap="sm" maw={640}>
        <Group align="flex-end" gap="sm">
          <Autocomplete
            label={t.into}
            data={account.mailboxes.filter(({ role }) => role !== 'outbox').map(({ path }) => path)}
            value={folder}
            onChange={setFolder}
            disabled={isRunning}
            w={220}
          />
          <FileButton
            accept=".mbox,.eml,.mbx,message/rfc822,application/mbox"
            resetRef={resetFileInput}
            onChange={(file) => {
              // Without the reset the browser reports no change when the same file is chosen again.
              resetFileInput.current?.();
              if (file) void start(file);
            }}
          >
            {(props) => (
              <Button {...props} leftSection={<Icon name="plus" />} disabled={isRunning}>
                {t.choose}
              </Button>
            )}
          </FileButton>
        </Group>
        {job && <ImportProgress job={job} stop={() => stop.current?.abort()} />}
      </Stack>
    </Section>
  );
}

function ImportProgress({ job, stop }: { job: ImportJob; stop: () => void }): ReactNode {
  const t = useInboxTexts().accounts.import;
  const app = useApplication();
  const { name, size, sentBytes, report, state, error } = job;
  return (
    <Stack gap="xs">
      {state === 'running' && (
        <Group wrap="nowrap">
          <Progress.Root style={{ flex: 1 }}>
            <Progress.Section
              value={size === 0 ? 100 : (100 * sentBytes) / size}
              aria-label={t.progressOf(name)}
              animated
            />
          </Progress.Root>
          <Text size="sm" className="tabular nowrap">
            {t.progress(formatSize(sentBytes), formatSize(size))}
          </Text>
          <Button size="compact-sm" variant="default" onClick={stop}>
            {t.stop}
          </Button>
        </Group>
      )}
      {state === 'stopped' && <Text size="sm">{t.stopped}</Text>}
      <FormProblem error={error} />
      {report && (
        <div role="status">
          <Text size="sm">{t.result(report.stored, report.duplicates)}</Text>
          {report.unparsable > 0 && <Text size="sm">{t.unparsable(report.unparsable)}</Text>}
          {report.failed > 0 && <Text size="sm">{t.failed(report.failed)}</Text>}
          {report.skipped > 0 && <Text size="sm">{t.skipped(report.skipped)}</Text>}
        </div>
      )}
      {report && report.problems.length > 0 && (
        <List size="sm">
          {report.problems.slice(0, 10).map(({ message, outcome, reason }) => (
            <List.Item key={message}>{t.problem(message, reason ?? outcome)}</List.Item>
          ))}
        </List>
      )}
      {state === 'done' && (
        <Group>
          <ButtonLink to="/a/$app/inbox" params={{ app }} variant="default" size="compact-sm">
            {t.open}
          </ButtonLink>
        </Group>
      )}
    </Stack>
  );
}

/** The first step: the file is chosen and uploaded. */
import { Alert, Button, Group, Progress, Stack, Text } from '@mantine/core';
import type { StoredFile } from '@tablinum/client';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useClient } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { DropArea } from '../files/drop-area.tsx';
import { uploadFile } from '../files/upload-file.ts';
import { StepHeading } from './steps.tsx';

const acceptedTypes = '.csv,.tsv,.txt,.xlsx,.json,.ndjson,.jsonl,text/csv,application/json,application/x-ndjson';

interface RunningUpload {
  readonly file: File;
  /** Bytes. */
  readonly sent: number;
  readonly controller: AbortController;
}

interface FileUpload {
  readonly upload: RunningUpload | null;
  readonly problem: string | null;
  readonly start: (files: readonly File[]) => void;
  readonly cancel: () => void;
}

function useFileUpload(done: (file: StoredFile) => void): FileUpload {
  const client = useClient();
  const t = useImportTexts().file;
  const [upload, setUpload] = useState<RunningUpload | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const run = async (file: File): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setProblem(null);
    setUpload({ file, sent: 0, controller });
    const onProgress = (sent: number): void => setUpload({ file, sent, controller });
    try {
      const stored = await uploadFile(client, file, { signal: controller.signal, onProgress });
      if (!controller.signal.aborted) done(stored);
    } catch (error) {
      if (!controller.signal.aborted) setProblem(t.failed(file.name, getErrorMessage(error)));
    } finally {
      if (running.current === controller) setUpload(null);
    }
  };
  const start = (files: readonly File[]): void => {
    const [file, ...others] = files;
    if (!file) return;
    if (others.length > 0) setProblem(t.oneFile);
    else if (file.size === 0) setProblem(t.empty(file.name));
    else void run(file);
  };
  const cancel = (): void => {
    running.current?.abort();
    running.current = null;
    setUpload(null);
  };
  return { upload, problem, start, cancel };
}

/** @param done receives the uploaded file. */
export function FileStep({ done }: { readonly done: (file: StoredFile) => void }): ReactNode {
  const t = useImportTexts().file;
  const mayUpload = useMay()('files', 'upload');
  const noPermission = useTexts().data.files.noPermission;
  const { upload, problem, start, cancel } = useFileUpload(done);
  const chooser = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const cancelUpload = (): void => {
    cancel();
    requestAnimationFrame(() => chooser.current?.focus()); // the button that had the focus disappears
  };
  return (
    <Stack>
      <StepHeading>{t.title}</StepHeading>
      <DropArea label={t.title} drop={mayUpload && !upload ? start : null}>
        <Stack align="center" gap="xs" py="lg" mih={150} justify="center">
          {upload ? (
            <UploadProgress upload={upload} cancel={cancelUpload} />
          ) : (
            <>
              <input
                ref={input}
                type="file"
                hidden
                accept={acceptedTypes}
                onChange={(event) => {
                  start([...(event.currentTarget.files ?? [])]);
                  event.currentTarget.value = ''; // the same file can be chosen again
                }}
              />
              <Button
                ref={chooser}
                leftSection={<Icon name="folder" />}
                disabled={!mayUpload}
                onClick={() => input.current?.click()}
              >
                {t.choose}
              </Button>
              <Text size="sm" c="dimmed" ta="center">
                {mayUpload ? t.drop : noPermission}
              </Text>
            </>
          )}
        </Stack>
      </DropArea>
      {problem && (
        <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />}>
          {problem}
        </Alert>
      )}
      <Text size="sm" c="dimmed">
        {t.hint}
      </Text>
    </Stack>
  );
}

function UploadProgress({ upload, cancel }: { upload: RunningUpload; cancel: () => void }): ReactNode {
  const t = useImportTexts().file;
  const { file, sent } = upload;
  return (
    <Stack gap="xs" w="100%" maw={480}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {file.name}
      </Text>
      <Progress.Root>
        <Progress.Section value={Math.min(100, (100 * sent) / file.size)} aria-label={t.progressOf(file.name)} />
      </Progress.Root>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" className="tabular">
          {formatSize(Math.min(sent, file.size))} / {formatSize(file.size)}
        </Text>
        <Button size="compact-sm" variant="default" onClick={cancel}>
          {t.cancel}
        </Button>
      </Group>
    </Stack>
  );
}

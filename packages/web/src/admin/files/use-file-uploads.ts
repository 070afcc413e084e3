import type { Field, StoredFile } from '@tablinum/client';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useClient } from '../../data/application.tsx';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import { getErrorMessage } from '../../data/problem.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { useStable } from '../../ui/use-stable.ts';
import { acceptsType, getMaxCount, toFiles, toFileValue, UnfinishedUpload } from './file-values.ts';
import { uploadFile } from './upload-file.ts';

export interface Upload {
  readonly id: string;
  readonly file: File;
  /** Bytes. */
  readonly sent: number;
  readonly controller: AbortController;
}

export interface FileUploads {
  /** The running and waiting uploads. */
  readonly uploads: readonly Upload[];
  /** Why files were not added. */
  readonly problems: readonly string[];
  /** The file that was uploaded last. */
  readonly uploaded: StoredFile | null;
  readonly add: (files: readonly File[]) => void;
  readonly cancel: (upload: Upload) => void;
  readonly remove: (file: StoredFile) => void;
}

interface FileUploadsOptions {
  readonly field: Field;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
}

/** Uploads the files of a field one after the other, so that they keep their order. */
export function useFileUploads({ field, value, change }: FileUploadsOptions): FileUploads {
  const client = useClient();
  const findProblem = useFileCheck(field);
  const t = useTexts().data.files.problems;
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [uploaded, setUploaded] = useState<StoredFile | null>(null);
  // What the next render will show: several uploads can end before it.
  const files = useRef(toFiles(value));
  const running = useRef<readonly Upload[]>([]);
  const queue = useRef(Promise.resolve());
  const isUnfinished = value instanceof UnfinishedUpload;
  useLayoutEffect(() => {
    files.current = toFiles(value);
  }, [value]);

  const { publish } = useStable({
    publish: (nextFiles: readonly StoredFile[], nextUploads: readonly Upload[]) => {
      files.current = nextFiles;
      running.current = nextUploads;
      setUploads(nextUploads);
      change(nextUploads.length > 0 ? new UnfinishedUpload(nextFiles) : toFileValue(field, nextFiles));
    },
  });
  // The form was discarded: the server removes files to which no record refers.
  useEffect(() => {
    if (isUnfinished || uploads.length === 0) return;
    abortAll(running.current);
    running.current = [];
    setUploads([]);
  });
  useEffect(() => () => abortAll(running.current), []);

  const run = async (upload: Upload): Promise<void> => {
    const { id, file, controller } = upload;
    if (controller.signal.aborted) return;
    const others = (): Upload[] => running.current.filter((each) => each.id !== id);
    const onProgress = (sent: number): void =>
      setUploads((all) => all.map((each) => (each.id === id ? { ...each, sent } : each)));
    try {
      const stored = await uploadFile(client, file, { signal: controller.signal, onProgress });
      if (controller.signal.aborted) return;
      const problem = findProblem({ name: file.name, size: stored.size, type: stored.contentType });
      if (problem === null) setUploaded(stored);
      else setProblems((all) => [...all, problem]);
      const kept = field.multiple ? [...files.current, stored] : [stored];
      publish(problem === null ? kept : files.current, others());
    } catch (error) {
      if (controller.signal.aborted) return;
      setProblems((all) => [...all, t.failed(file.name, getErrorMessage(error))]);
      publish(files.current, others());
    }
  };

  const add = (given: readonly File[]): void => {
    const max = getMaxCount(field);
    const refused: string[] = [];
    const added: Upload[] = [];
    const present = field.multiple ? files.current.length + running.current.length : running.current.length;
    for (const file of given) {
      const isFull = present + added.length >= max;
      const problem = isFull ? t.count(file.name, max) : findProblem(file);
      if (problem === null)
        added.push({ id: createIdempotencyKey(), file, sent: 0, controller: new AbortController() });
      else refused.push(problem);
    }
    setProblems(refused);
    setUploaded(null);
    if (added.length === 0) return;
    publish(files.current, [...running.current, ...added]);
    for (const upload of added) queue.current = queue.current.then(() => run(upload));
  };
  const cancel = ({ id, controller }: Upload): void => {
    controller.abort();
    publish(
      files.current,
      running.current.filter((each) => each.id !== id),
    );
  };
  const remove = ({ id }: StoredFile): void =>
    publish(
      files.current.filter((each) => each.id !== id),
      running.current,
    );
  return { uploads, problems, uploaded, add, cancel, remove };
}

function abortAll(uploads: readonly Upload[]): void {
  for (const { controller } of uploads) controller.abort();
}

interface CheckedFile {
  readonly name: string;
  readonly size: number;
  /** Empty if the browser does not know it: then the server decides. */
  readonly type: string;
}

/** @returns a function that says why the field does not accept a file, or null. */
function useFileCheck(field: Field): (file: CheckedFile) => string | null {
  const t = useTexts().data.files.problems;
  const { accept = [], maxSize } = field;
  return ({ name, size, type }) => {
    if (type !== '' && !acceptsType(field, type)) return t.type(name, type, accept.join(', '));
    if (maxSize !== undefined && size > maxSize) return t.size(name, formatSize(size), formatSize(maxSize));
    return null;
  };
}

import type { Client, Key, NewCollection } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApplication } from '../../data/application.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import {
  type DryRunReport,
  type ImportPreview,
  type ImportRecord,
  type ImportRequest,
  isRunning,
  type NewCollectionPreview,
  type SourceOptions,
} from './dto.ts';

/** Milliseconds between two reads of a running import, in case events do not arrive. */
const pollInterval = 4000;

/** @param resource a collection, or `collections` for a new one. */
export function useImportPreview<T extends ImportPreview>(
  resource: string,
  file: number | null,
  source: SourceOptions,
): UseQueryResult<T, Error> {
  return useApiQuery(
    ['importPreview', resource, file, source],
    async (client, signal) => {
      const options = { method: 'POST' as const, body: { file, ...source }, signal };
      return (await client.call<T>(`${encodeURIComponent(resource)}:importPreview`, options)).data;
    },
    { enabled: file !== null, staleTime: Number.POSITIVE_INFINITY, keepPreviousData: true },
  );
}

/** Bad rows that the page lists. */
const maxErrors = 1000;

/** Checks all rows of a file. Nothing is changed. */
export async function runDryRun(
  client: Client,
  collection: string,
  request: ImportRequest,
  signal: AbortSignal,
): Promise<DryRunReport> {
  const options = { method: 'POST' as const, body: { ...request, dryRun: true, maxErrors }, signal };
  return (await client.call<DryRunReport>(`${encodeURIComponent(collection)}:import`, options)).data;
}

/** Checks all rows of a file for a collection that does not exist yet. @throws Failure as its creation would. */
export async function checkNewCollection(
  client: Client,
  request: Pick<ImportRequest, 'file' | 'mapping'> & SourceOptions,
  definition: NewCollection,
): Promise<DryRunReport> {
  const options = { method: 'POST' as const, body: { ...request, definition, maxErrors } };
  const { data } = await client.call<NewCollectionPreview>('collections:importPreview', options);
  if (!data.report) throw new Error('The server has not checked the rows.');
  return data.report;
}

export async function startImport(
  client: Client,
  collection: string,
  request: ImportRequest,
  idempotencyKey: string,
): Promise<ImportRecord> {
  const options = { method: 'POST' as const, body: request, idempotencyKey };
  return (await client.call<ImportRecord>(`${encodeURIComponent(collection)}:import`, options)).data;
}

/** One import, which is followed while it runs. */
export function useImport(id: Key): UseQueryResult<ImportRecord, Error> {
  const application = useApplication();
  const query = useApiQuery(
    ['imports', 'one', String(id)],
    (client, signal) => client.records<ImportRecord>('imports').get(id, {}, { signal }),
    { refetchInterval: ({ state: { data } }) => (data && isRunning(data) ? pollInterval : false) },
  );
  const readAgain = (): void => void invalidate(application, 'imports');
  useRealtimeEvents('imports', ({ tk }) => String(tk) === String(id) && readAgain(), readAgain, readAgain);
  return query;
}

/** The own imports, the latest first. */
export function useImports(): UseQueryResult<readonly ImportRecord[], Error> {
  const application = useApplication();
  const readAgain = (): void => void invalidate(application, 'imports');
  useRealtimeEvents('imports', readAgain, readAgain, readAgain);
  return useApiQuery(['imports', 'list'], async (client, signal) => {
    const query = { pageSize: 100, sort: ['-id'], count: 'none' as const };
    return (await client.records<ImportRecord>('imports').list(query, { signal })).data;
  });
}

/** The running imports into a collection, or into any. */
export function useRunningImports(collection: string | null): readonly ImportRecord[] {
  const application = useApplication();
  const readAgain = (): void => void invalidate(application, 'imports');
  useRealtimeEvents('imports', readAgain, readAgain);
  const filter = { status: { $in: ['pending', 'running'] }, ...(collection !== null && { collection }) };
  const { data } = useApiQuery(['imports', 'running', collection], async (client, signal) => {
    const query = { filter, pageSize: 20, sort: ['-id'], count: 'none' as const };
    return (await client.records<ImportRecord>('imports').list(query, { signal })).data;
  });
  return (data ?? []).filter(isRunning);
}

import { List, MultiSelect, Progress, Stack, Text } from '@mantine/core';
import type { Collection, SearchIndexReport } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useApiQuery } from '../../data/queries.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';

/** The types of fields that can have a search index. */
const searchableTypes = new Set(['string', 'text', 'email', 'url', 'phone', 'color']);
const pollMilliseconds = 1000;

interface SearchIndexFieldsProps {
  readonly collection: Collection;
  readonly search: readonly string[];
  readonly change: (search: readonly string[]) => void;
  readonly error?: string | undefined;
}

/** Selects the fields that have a search index, and shows how far each index is built. */
export function SearchIndexFields({ collection, search, change, error }: SearchIndexFieldsProps): ReactNode {
  const t = useTexts().data.searchIndexes;
  const names = collection.fields.filter(({ type }) => searchableTypes.has(type)).map(({ name }) => name);
  return (
    <Stack gap="xs" component="section" aria-label={t.title}>
      <MultiSelect
        label={t.title}
        description={t.hint}
        data={[...new Set([...names, ...search])]}
        value={[...search]}
        onChange={change}
        placeholder={search.length === 0 ? t.fields : ''}
        error={error}
        searchable
      />
      <SearchIndexProgress collection={collection.name} />
    </Stack>
  );
}

/** The state of each search index; nothing without any. It is read again while one is being built. */
function SearchIndexProgress({ collection }: { readonly collection: string }): ReactNode {
  const t = useTexts().data.searchIndexes;
  const reports = useApiQuery(
    ['collections', 'searchIndexes', collection],
    async (client) => (await client.collections.get(collection)).searchIndexes ?? [],
    {
      refetchInterval: ({ state }) =>
        state.data?.some((each) => each.state === 'building') === true ? pollMilliseconds : false,
    },
  );
  if (!reports.data || reports.data.length === 0) return null;
  return (
    <List size="sm" listStyleType="none">
      {reports.data.map((report) => (
        <List.Item key={report.field}>
          <Text size="sm">
            {report.field}: {t.describe(report)}
          </Text>
          {report.state === 'building' && <Progress value={readPercent(report)} aria-label={report.field} />}
        </List.Item>
      ))}
    </List>
  );
}

function readPercent({ done = 0, total = 0 }: SearchIndexReport): number {
  return total === 0 ? 0 : Math.min(100, (100 * done) / total);
}

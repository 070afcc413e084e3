/** The indexes that requests to a collection lack, and those that they do not need. */
import { Box, Button, Stack, Text } from '@mantine/core';
import { type Collection, Failure, type IndexAdvice, type MissingIndex, type UnneededIndex } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { confirm } from '../../ui/confirm.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import { toast } from '../../ui/toasts.tsx';

/** The advice on one collection, for roles that may change it. */
export function IndexAdviceSection({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts().data.indexAdvice;
  const advice = useApiQuery(['index-advice', collection.name], (client) =>
    client.collections.indexAdvice(collection.name),
  );
  const refresh = (
    <Button
      variant="subtle"
      size="compact-sm"
      loading={advice.isFetching && !advice.isPending}
      onClick={() => void advice.refetch()}
    >
      {t.refresh}
    </Button>
  );
  return (
    <Section title={t.title} text={t.hint} actions={refresh}>
      <QueryBoundary query={advice} permission={{ resource: 'collections', action: 'update' }}>
        {(data) => <Advice advice={data} collection={collection} />}
      </QueryBoundary>
    </Section>
  );
}

function Advice({ advice, collection }: { advice: IndexAdvice; collection: Collection }): ReactNode {
  const t = useTexts().data.indexAdvice;
  const { missing, unneeded } = advice;
  return (
    <Stack gap="sm">
      {missing.length + unneeded.length === 0 && <Text>{t.empty}</Text>}
      {missing.length > 0 && <MissingIndexes rows={missing} collection={collection} />}
      {unneeded.length > 0 && <UnneededIndexes rows={unneeded} collection={collection} />}
      <Text size="xs" c="dimmed">
        {t.since} <DateTime value={advice.since} /> · {t.server(advice.server)}
      </Text>
    </Stack>
  );
}

const keyOf = ({ type = '', fields }: { readonly type?: string; readonly fields: readonly string[] }): string =>
  `${type}:${fields.join()}`;

function MissingIndexes({ rows, collection }: { rows: readonly MissingIndex[]; collection: Collection }): ReactNode {
  const t = useTexts().data.indexAdvice;
  return (
    <ListTable
      label={t.missing}
      rows={rows}
      keyOf={keyOf}
      columns={[
        { title: t.missing, width: '25%', render: (row) => <MissingName missing={row} /> },
        { title: t.why, render: (row) => <Reason missing={row} /> },
        {
          title: t.effect,
          width: '25%',
          render: (row) => (
            <Text size="sm" miw={150}>
              {t.expected(row)}
            </Text>
          ),
        },
        { title: '', width: 120, render: (row) => <CreateButton missing={row} collection={collection} /> },
      ]}
    />
  );
}

/** The fields of the index, and its kind if that is not the usual one. */
function MissingName({ missing: { type, fields } }: { missing: MissingIndex }): ReactNode {
  const t = useTexts().data.indexAdvice;
  return (
    <>
      <Text fw={500}>{fields.join(', ')}</Text>
      {type === 'search' && (
        <Text size="xs" c="dimmed">
          {t.search}
        </Text>
      )}
    </>
  );
}

/** The requests that lack the index. */
function Reason({ missing }: { missing: MissingIndex }): ReactNode {
  const t = useTexts().data.indexAdvice;
  return (
    <Box miw={220}>
      <Text size="sm">{t.cost(missing)}</Text>
      {missing.requests.map(({ conditions, sort }) => (
        <Text key={JSON.stringify([conditions, sort])} size="xs" c="dimmed">
          {t.request(conditions, sort)}
        </Text>
      ))}
    </Box>
  );
}

function CreateButton({ missing, collection }: { missing: MissingIndex; collection: Collection }): ReactNode {
  const t = useTexts().data.indexAdvice;
  const { type, fields } = missing;
  const isSearch = type === 'search';
  const { isPending, change } = useIndexChange(collection, isSearch ? t.searchCreated : t.created);
  const createTitle = isSearch ? t.createSearchTitle(fields) : t.createTitle(fields);
  const create = async (): Promise<void> => {
    const text = isSearch ? t.createSearchText : t.createText;
    if (!(await confirm({ title: createTitle, text, confirmLabel: t.create }))) return;
    await change((client) =>
      changeOptions(client, collection.name, ({ indexes = [], search = [] }) =>
        isSearch ? { search: [...new Set([...search, ...fields])] } : { indexes: [...indexes, { fields }] },
      ),
    );
  };
  return (
    <PendingButton
      size="compact-sm"
      variant="light"
      pending={isPending}
      aria-label={createTitle}
      onClick={() => void create()}
    >
      {t.create}
    </PendingButton>
  );
}

function UnneededIndexes({ rows, collection }: { rows: readonly UnneededIndex[]; collection: Collection }): ReactNode {
  const t = useTexts().data.indexAdvice;
  return (
    <ListTable
      label={t.unneeded}
      rows={rows}
      keyOf={keyOf}
      columns={[
        { title: t.unneeded, width: '25%', render: ({ fields }) => <Text fw={500}>{fields.join(', ')}</Text> },
        {
          title: t.why,
          render: ({ coveredBy }) => (
            <Text size="sm" miw={180}>
              {coveredBy ? t.covered(coveredBy) : t.unused}
            </Text>
          ),
        },
        { title: '', width: 120, render: (row) => <RemoveButton unneeded={row} collection={collection} /> },
      ]}
    />
  );
}

function RemoveButton({ unneeded, collection }: { unneeded: UnneededIndex; collection: Collection }): ReactNode {
  const t = useTexts().data.indexAdvice;
  const { fields, source } = unneeded;
  const { isPending, change } = useIndexChange(collection, t.removed);
  const remove = async (): Promise<void> => {
    const title = t.removeTitle(fields);
    if (!(await confirm({ title, text: t.removeText, confirmLabel: t.remove, danger: true }))) return;
    await change(async (client) => {
      const [field = ''] = fields;
      if (source === 'field') return client.updateField(collection.name, field, { index: false });
      return changeOptions(client, collection.name, ({ indexes = [] }) => ({
        indexes: indexes.filter((each) => each.unique || each.fields.join() !== fields.join()),
      }));
    });
  };
  return (
    <PendingButton
      size="compact-sm"
      variant="light"
      color="red"
      pending={isPending}
      aria-label={t.removeTitle(fields)}
      onClick={() => void remove()}
    >
      {t.remove}
    </PendingButton>
  );
}

type Definitions = ReturnType<typeof getClient>['collections'];
type IndexOptions = Pick<Collection['options'], 'indexes' | 'search'>;

const maxAttempts = 3;

/** Changes the lists of indexes. If somebody else changes the definition at the same time, that change stays. */
async function changeOptions(
  client: Definitions,
  name: string,
  change: (options: IndexOptions) => IndexOptions,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { data, etag } = await client.getWithEtag(name);
    try {
      await client.update(name, { options: change(data.options) }, false, etag);
      return;
    } catch (error) {
      if (attempt === maxAttempts || !(error instanceof Failure && error.code === 'VERSION_STALE')) throw error;
    }
  }
}

/** Runs a change of the indexes, and loads the definitions and the advice again. */
function useIndexChange(
  { name }: Collection,
  done: string,
): { isPending: boolean; change: (work: (client: Definitions) => Promise<unknown>) => Promise<void> } {
  const application = useApplication();
  const [isPending, setPending] = useState(false);
  const change = async (work: (client: Definitions) => Promise<unknown>): Promise<void> => {
    setPending(true);
    try {
      await work(getClient(application).collections);
      await Promise.all([
        invalidate(application, 'schema'),
        invalidate(application, 'index-advice', name),
        invalidate(application, 'collections', 'searchIndexes', name),
      ]);
      toast(done);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    } finally {
      setPending(false);
    }
  };
  return { isPending, change };
}

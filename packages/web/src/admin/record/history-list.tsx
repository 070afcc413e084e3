import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import type { Collection, HistoryEntry, Key } from '@tablinum/client';
import type { ReactNode } from 'react';
import { Actor } from '../../data/actor.tsx';
import { getClient, useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { toast } from '../../ui/toasts.tsx';
import { formatValue } from '../records/value-text.ts';

const dateTimeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

interface HistoryListProps {
  readonly collection: Collection;
  readonly id: Key;
  readonly reverted: () => void;
  /** The role may restore an earlier version. */
  readonly mayRevert: boolean;
}

/** The history of a record, newest first. Each version can be restored. */
export function HistoryList({ collection, id, reverted, mayRevert }: HistoryListProps): ReactNode {
  const t = useTexts().data.record;
  const app = useApplication();
  const history = useApiQuery(
    ['history', collection.name, String(id)],
    (client, signal) => client.records(collection.name).history(id, { pageSize: 100 }, { signal }),
    { staleTime: 0 },
  );
  const revert = async (entry: HistoryEntry): Promise<void> => {
    if (!(await confirm({ title: t.revertTitle, text: t.revertText, confirmLabel: t.revert }))) return;
    try {
      await getClient(app).records(collection.name).revert(id, entry.id);
      toast(t.reverted);
      await invalidate(app, 'history', collection.name);
      reverted();
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  return (
    <QueryBoundary query={history} permission={{ resource: collection.name, action: 'history' }}>
      {({ data }) =>
        data.length === 0 ? (
          <Text c="dimmed">{t.historyEmpty}</Text>
        ) : (
          <Stack>
            {[...data]
              .sort((a, b) => b.id - a.id)
              .map((entry, index) => (
                <Paper key={entry.id} withBorder p="sm" component="article">
                  <Group justify="space-between" mb={4}>
                    <Text size="sm">
                      <b>{t.historyActions[entry.action] ?? entry.action}</b>{' '}
                      {entry.actor && (
                        <>
                          {t.by} <Actor actor={entry.actor} />
                        </>
                      )}{' '}
                      <Text span c="dimmed" className="tabular">
                        {dateTimeFormat.format(new Date(entry.at))}
                      </Text>
                    </Text>
                    {mayRevert && index > 0 && (
                      <Button size="compact-sm" variant="default" onClick={() => void revert(entry)}>
                        {t.revert}
                      </Button>
                    )}
                  </Group>
                  {entry.changes.length > 0 && <Changes collection={collection} entry={entry} />}
                </Paper>
              ))}
          </Stack>
        )
      }
    </QueryBoundary>
  );
}

function Changes({ collection, entry }: { collection: Collection; entry: HistoryEntry }): ReactNode {
  const t = useTexts().data;
  const field = (name: string) => collection.fields.find((each) => each.name === name) ?? { name, type: 'string' };
  return (
    <ListTable
      label={t.record.history}
      rows={entry.changes}
      keyOf={(change) => change.field}
      columns={[
        { title: t.definition.fields, width: '24%', render: (change) => getTitle(field(change.field)) },
        {
          title: t.record.before,
          width: '38%',
          render: (change) => formatValue(field(change.field), change.before) || '–',
        },
        {
          title: t.record.after,
          width: '38%',
          render: (change) => formatValue(field(change.field), change.after) || '–',
        },
      ]}
    />
  );
}

import { Button, Group, Stack, Text } from '@mantine/core';
import type { Collection, Field, Key, RecordValues } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { findKeyField, getRecordLabel } from '../../data/records/label.ts';
import { getTitle, useCollection } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { toast } from '../../ui/toasts.tsx';
import { CellValue } from '../records/cell-value.tsx';
import { listColumnFields } from '../records/columns.ts';
import { RelationSelect } from '../records/relation-select.tsx';

const pageSize = 50;
const maxColumns = 5;

interface RelatedListProps {
  readonly collection: Collection;
  readonly field: Field;
  readonly id: Key;
  readonly editable: boolean;
}

/** The records that a to-many relation names; linked and unlinked here. */
export function RelatedList({ collection, field, id, editable }: RelatedListProps): ReactNode {
  const t = useTexts().data.record;
  const app = useApplication();
  const target = useCollection(field.target!);
  const [pageCount, setPageCount] = useState(1);
  const key = ['related', collection.name, String(id), field.name] as const;
  const list = useApiQuery([...key, pageCount], (client, signal) =>
    client
      .records(collection.name)
      .relation(id, field.name)
      .list({ pageSize: Math.min(1000, pageSize * pageCount) }, { signal }),
  );
  useRealtimeEvents(
    field.target!,
    () => void list.refetch(),
    () => void list.refetch(),
  );
  const relation = getClient(app).records(collection.name).relation(id, field.name);
  const run = async (action: () => Promise<unknown>, message: string): Promise<void> => {
    try {
      await action();
      toast(message);
      await invalidate(app, 'related', collection.name);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  const getRecordKey = (record: RecordValues): Key => record[target ? findKeyField(target).name : 'id'] as Key;
  const columns = target
    ? listColumnFields(target)
        .filter((each) => !each.target && !each.primaryKey)
        .slice(0, maxColumns)
    : [];
  return (
    <Stack>
      {editable && (
        <RelationSelect
          field={{
            target: field.target!,
            ...(field.targetKey && { targetKey: target ? findKeyField(target).name : field.targetKey }),
          }}
          label={t.link}
          value={null}
          change={(picked) => picked !== null && void run(() => relation.add([picked]), t.linked)}
        />
      )}
      <QueryBoundary query={list} permission={{ resource: field.target!, action: 'list' }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t.noLinked}</Text>
          ) : (
            <>
              <ListTable
                label={getTitle(field)}
                rows={data}
                keyOf={getRecordKey}
                columns={[
                  {
                    title: target ? getTitle(findKeyField(target)) : 'id',
                    render: (record) => (
                      <TextLink
                        to="/a/$app/data/$collection/$key"
                        params={{ app, collection: field.target!, key: String(getRecordKey(record)) }}
                      >
                        {String(getRecordKey(record))}
                      </TextLink>
                    ),
                  },
                  ...columns.map((each) => ({
                    title: getTitle(each),
                    render: (record: RecordValues) => <CellValue field={each} values={record} />,
                  })),
                  {
                    title: '',
                    width: 50,
                    render: (record: RecordValues) =>
                      editable && (
                        <IconButton
                          icon="x"
                          size="md"
                          label={t.unlink(getRecordLabel(target, record))}
                          onClick={() => void run(() => relation.remove([getRecordKey(record)]), t.unlinked)}
                        />
                      ),
                  },
                ]}
              />
              {meta.hasNext && (
                <Group>
                  <Button variant="subtle" onClick={() => setPageCount(pageCount + 1)}>
                    {t.moreLinked((meta.count ?? 0) - data.length)}
                  </Button>
                </Group>
              )}
            </>
          )
        }
      </QueryBoundary>
    </Stack>
  );
}

import { Button, Group, Stack, Text } from '@mantine/core';
import type { Collection, Field, Key, RecordValues } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { findKeyField, getRecordLabel } from '../../data/records/label.ts';
import { useCollection } from '../../data/schema.ts';
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

/** A field that links records of its target. */
export type RelationField = Field & { readonly target: string };

interface RelatedListProps {
  readonly collection: Collection;
  readonly field: RelationField;
  readonly id: Key;
  readonly editable: boolean;
}

/** The records that a to-many relation links, with buttons to link and unlink them. */
export function RelatedList(props: RelatedListProps): ReactNode {
  const { collection, field, id, editable } = props;
  const { target: targetName } = field;
  const t = useTexts().data.record;
  const target = useCollection(targetName);
  const [pageCount, setPageCount] = useState(1);
  const list = useApiQuery(['related', collection.name, String(id), field.name, pageCount], (client, signal) =>
    client
      .records(collection.name)
      .relation(id, field.name)
      .list({ pageSize: Math.min(1000, pageSize * pageCount) }, { signal }),
  );
  const refetch = (): void => void list.refetch();
  useRealtimeEvents(targetName, refetch, refetch);
  const { link, unlink } = useLinking(props);
  const keyName = target ? findKeyField(target).name : 'id';
  return (
    <Stack>
      {editable && (
        <RelationSelect
          field={{ target: targetName, ...(field.targetKey && { targetKey: target ? keyName : field.targetKey }) }}
          label={t.link}
          value={null}
          change={(picked) => picked !== null && link(picked)}
        />
      )}
      <QueryBoundary query={list} permission={{ resource: targetName, action: 'list' }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t.noLinked}</Text>
          ) : (
            <>
              <RelatedTable field={field} target={target} records={data} unlink={editable ? unlink : null} />
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

interface Linking {
  readonly link: (key: Key) => void;
  readonly unlink: (key: Key) => void;
}

function useLinking({ collection, field, id }: RelatedListProps): Linking {
  const t = useTexts().data.record;
  const app = useApplication();
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
  return {
    link: (key) => void run(() => relation.add([key]), t.linked),
    unlink: (key) => void run(() => relation.remove([key]), t.unlinked),
  };
}

interface RelatedTableProps {
  readonly field: RelationField;
  /** Null or undefined while its definition is not known to the role. */
  readonly target: Collection | null | undefined;
  readonly records: readonly RecordValues[];
  /** Null where the links cannot be changed. */
  readonly unlink: ((key: Key) => void) | null;
}

function RelatedTable({ field, target, records, unlink }: RelatedTableProps): ReactNode {
  const t = useTexts().data.record;
  const app = useApplication();
  const keyField = target && findKeyField(target);
  const getRecordKey = (record: RecordValues): Key => record[keyField?.name ?? 'id'] as Key;
  const columns = target
    ? listColumnFields(target)
        .filter((each) => !each.target && !each.primaryKey)
        .slice(0, maxColumns)
    : [];
  return (
    <ListTable
      label={getTitle(field)}
      rows={records}
      keyOf={getRecordKey}
      columns={[
        {
          title: keyField ? getTitle(keyField) : 'id',
          render: (record) => (
            <TextLink
              to="/a/$app/data/$collection/$key"
              params={{ app, collection: field.target, key: String(getRecordKey(record)) }}
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
            unlink && (
              <IconButton
                icon="x"
                size="md"
                label={t.unlink(getRecordLabel(target, record))}
                onClick={() => unlink(getRecordKey(record))}
              />
            ),
        },
      ]}
    />
  );
}

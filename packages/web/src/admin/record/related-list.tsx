import { Button, Group, Stack, Text } from '@mantine/core';
import type { Collection, Field, Key, RecordValues } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { useLive } from '../../data/live.ts';
import { Asked, messageOf } from '../../data/problem.tsx';
import { forget, useAsked } from '../../data/queries.ts';
import { keyField, labelOf } from '../../data/records/label.ts';
import { titleOf, useCollection } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { toast } from '../../ui/toasts.tsx';
import { CellValue } from '../records/cell-value.tsx';
import { columnFields } from '../records/columns.ts';
import { RelationSelect } from '../records/relation-select.tsx';

const pageSize = 50;
const mostColumns = 5;

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
  const list = useAsked([...key, pageCount], (client, signal) =>
    client
      .records(collection.name)
      .relation(id, field.name)
      .list({ pageSize: Math.min(1000, pageSize * pageCount) }, { signal }),
  );
  useLive(
    field.target!,
    () => void list.refetch(),
    () => void list.refetch(),
  );
  const relation = clientOf(app).records(collection.name).relation(id, field.name);
  const run = async (act: () => Promise<unknown>, said: string): Promise<void> => {
    try {
      await act();
      toast(said);
      await forget(app, 'related', collection.name);
    } catch (error) {
      toast(messageOf(error), { failed: true });
    }
  };
  const nameOf = (record: RecordValues): Key => record[target ? keyField(target).name : 'id'] as Key;
  const columns = target
    ? columnFields(target)
        .filter((each) => !each.target && !each.primaryKey)
        .slice(0, mostColumns)
    : [];
  return (
    <Stack>
      {editable && (
        <RelationSelect
          field={{
            target: field.target!,
            ...(field.targetKey && { targetKey: target ? keyField(target).name : field.targetKey }),
          }}
          label={t.link}
          value={null}
          change={(picked) => picked !== null && void run(() => relation.add([picked]), t.linked)}
        />
      )}
      <Asked query={list} asked={{ resource: field.target!, action: 'list' }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t.noLinked}</Text>
          ) : (
            <>
              <ListTable
                label={titleOf(field)}
                rows={data}
                keyOf={nameOf}
                columns={[
                  {
                    title: target ? titleOf(keyField(target)) : 'id',
                    show: (record) => (
                      <TextLink
                        to="/a/$app/data/$collection/$key"
                        params={{ app, collection: field.target!, key: String(nameOf(record)) }}
                      >
                        {String(nameOf(record))}
                      </TextLink>
                    ),
                  },
                  ...columns.map((each) => ({
                    title: titleOf(each),
                    show: (record: RecordValues) => <CellValue field={each} values={record} />,
                  })),
                  {
                    title: '',
                    width: 50,
                    show: (record: RecordValues) =>
                      editable && (
                        <IconButton
                          icon="x"
                          size="md"
                          label={t.unlink(labelOf(target, record))}
                          onClick={() => void run(() => relation.remove([nameOf(record)]), t.unlinked)}
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
      </Asked>
    </Stack>
  );
}

import { Tabs } from '@mantine/core';
import type { Collection, Key, Read, RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Asked } from '../../data/problem.tsx';
import { useAsked } from '../../data/queries.ts';
import { keyField, labelOf } from '../../data/records/label.ts';
import { type Schema, titleOf } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Page } from '../../ui/page.tsx';
import { EditFields } from './edit-fields.tsx';
import { HistoryList } from './history-list.tsx';
import { RecordActions } from './record-actions.tsx';
import { RelatedList } from './related-list.tsx';

interface ExistingRecordProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly id: Key;
  /** The way back. */
  readonly above: ReactNode;
}

/** A record that is there, with the records that its to-one relations name. */
export function ExistingRecord({ collection, schema, id, above }: ExistingRecordProps): ReactNode {
  const app = useApplication();
  const appends = collection.fields
    .filter((field) => field.type === 'belongsTo' || field.type === 'hasOne')
    .map((field) => field.name);
  const record = useAsked(
    ['record', collection.name, String(id)],
    (client, signal) =>
      client
        .records(collection.name)
        .read(id, { appends, ...(collection.options.paranoid && { withDeleted: true }) }, { signal }),
    { staleTime: 0 },
  );
  return (
    <Page
      title={record.data ? labelOf(collection, record.data.data) : `#${id}`}
      above={above}
      actions={record.data && <RecordActions collection={collection} schema={schema} record={record.data.data} />}
    >
      <Asked query={record} asked={{ resource: collection.name, action: 'get' }}>
        {(read) => (
          <RecordBody
            key={app}
            collection={collection}
            schema={schema}
            read={read}
            reload={async () => {
              const { data, error } = await record.refetch();
              return error ? undefined : data;
            }}
          />
        )}
      </Asked>
    </Page>
  );
}

export interface RecordBodyProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly read: Read<RecordValues>;
  /** Reads the record again. */
  readonly reload: () => Promise<Read<RecordValues> | undefined>;
}

function RecordBody({ collection, schema, read, reload }: RecordBodyProps): ReactNode {
  const t = useTexts().data.record;
  const key = read.data[keyField(collection).name] as Key;
  const many = collection.fields.filter((field) => field.type === 'hasMany' || field.type === 'belongsToMany');
  const logged = collection.options.logging && schema.may(collection.name, 'history');
  return (
    <Tabs defaultValue="fields" keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="fields">{t.fields}</Tabs.Tab>
        {many.map((field) => (
          <Tabs.Tab key={field.name} value={`relation.${field.name}`}>
            {titleOf(field)}
          </Tabs.Tab>
        ))}
        {logged && <Tabs.Tab value="history">{t.history}</Tabs.Tab>}
      </Tabs.List>
      <Tabs.Panel value="fields">
        <EditFields collection={collection} schema={schema} read={read} reload={reload} />
      </Tabs.Panel>
      {many.map((field) => (
        <Tabs.Panel key={field.name} value={`relation.${field.name}`}>
          <RelatedList
            collection={collection}
            field={field}
            id={key}
            editable={schema.mayLink(collection.name, field.name)}
          />
        </Tabs.Panel>
      ))}
      <Tabs.Panel value="history">
        <HistoryList
          collection={collection}
          id={key}
          reverted={() => void reload()}
          revertible={schema.may(collection.name, 'revert')}
        />
      </Tabs.Panel>
    </Tabs>
  );
}

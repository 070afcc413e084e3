import { Tabs } from '@mantine/core';
import type { Collection, Field, Key, RecordValues, RecordWithEtag } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { findKeyField, getRecordLabel } from '../../data/records/label.ts';
import type { Schema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Page } from '../../ui/page.tsx';
import { EditFields } from './edit-fields.tsx';
import { HistoryList } from './history-list.tsx';
import { RecordActions } from './record-actions.tsx';
import { RelatedList, type RelationField } from './related-list.tsx';

interface ExistingRecordProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly id: Key;
  /** The link to the list. */
  readonly above: ReactNode;
}

/** The page of an existing record. Its to-one relations are loaded with it. */
export function ExistingRecord({ collection, schema, id, above }: ExistingRecordProps): ReactNode {
  const app = useApplication();
  const appends = collection.fields
    .filter((field) => field.type === 'belongsTo' || field.type === 'hasOne')
    .map((field) => field.name);
  const record = useApiQuery(
    ['record', collection.name, String(id)],
    (client, signal) =>
      client
        .records(collection.name)
        .getWithEtag(id, { appends, ...(collection.options.paranoid && { withDeleted: true }) }, { signal }),
    { staleTime: 0 },
  );
  return (
    <Page
      title={record.data ? getRecordLabel(collection, record.data.data) : `#${id}`}
      above={above}
      actions={record.data && <RecordActions collection={collection} schema={schema} record={record.data.data} />}
    >
      <QueryBoundary query={record} permission={{ resource: collection.name, action: 'get' }}>
        {(loaded) => (
          <RecordBody
            key={app}
            collection={collection}
            schema={schema}
            loaded={loaded}
            reload={async () => {
              const { data, error } = await record.refetch();
              return error ? undefined : data;
            }}
          />
        )}
      </QueryBoundary>
    </Page>
  );
}

export interface RecordBodyProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly loaded: RecordWithEtag<RecordValues>;
  /** Reads the record again. */
  readonly reload: () => Promise<RecordWithEtag<RecordValues> | undefined>;
}

function isToManyField(field: Field): field is RelationField {
  return (field.type === 'hasMany' || field.type === 'belongsToMany') && field.target !== undefined;
}

function RecordBody({ collection, schema, loaded, reload }: RecordBodyProps): ReactNode {
  const t = useTexts().data.record;
  const key = loaded.data[findKeyField(collection).name] as Key;
  const toManyFields = collection.fields.filter(isToManyField);
  const isLogged = collection.options.logging && schema.may(collection.name, 'history');
  return (
    <Tabs defaultValue="fields" keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="fields">{t.fields}</Tabs.Tab>
        {toManyFields.map((field) => (
          <Tabs.Tab key={field.name} value={`relation.${field.name}`}>
            {getTitle(field)}
          </Tabs.Tab>
        ))}
        {isLogged && <Tabs.Tab value="history">{t.history}</Tabs.Tab>}
      </Tabs.List>
      <Tabs.Panel value="fields">
        <EditFields collection={collection} schema={schema} loaded={loaded} reload={reload} />
      </Tabs.Panel>
      {toManyFields.map((field) => (
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
          mayRevert={schema.may(collection.name, 'revert')}
        />
      </Tabs.Panel>
    </Tabs>
  );
}

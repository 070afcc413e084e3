/** The page of a record with its fields, relations and history, or of a new record. */
import type { Collection } from '@tablinum/client';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import { useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { getRememberedView } from '../records/view-memory.ts';
import { ExistingRecord } from './existing-record.tsx';
import { NewRecord } from './new-record.tsx';

export function RecordPage(): ReactNode {
  const { collection: name = '', key } = useParams({ strict: false });
  const schema = useSchema();
  const t = useTexts();
  const app = useApplication();
  const collection = schema.data?.byName.get(name);
  if (!schema.data || !collection)
    return (
      <Page
        title={name}
        above={
          <TextLink to="/a/$app/data" params={{ app }}>
            {t.data.collections.title}
          </TextLink>
        }
      >
        <QueryBoundary query={schema}>
          {() => <Empty icon="search" title={t.common.problem.notFoundTitle} text={name} />}
        </QueryBoundary>
      </Page>
    );
  const shared = { collection, schema: schema.data, above: <Above collection={collection} /> };
  return key === undefined ? (
    <NewRecord key={name} {...shared} />
  ) : (
    <ExistingRecord key={`${name}/${key}`} {...shared} id={key} />
  );
}

function Above({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts().data;
  const app = useApplication();
  return (
    <>
      <TextLink to="/a/$app/data" params={{ app }}>
        {t.collections.title}
      </TextLink>{' '}
      /{' '}
      <TextLink
        to="/a/$app/data/$collection"
        params={{ app, collection: collection.name }}
        search={getRememberedView(app, collection.name) as never}
      >
        {getTitle(collection)}
      </TextLink>
    </>
  );
}

import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Asked } from '../../data/problem.tsx';
import { useAsked } from '../../data/queries.ts';
import { titleOf, useCollection } from '../../data/schema.ts';
import { Page } from '../../ui/page.tsx';

/** The records of one collection. */
export function RecordsPage(): ReactNode {
  const { collection: name = '' } = useParams({ strict: false });
  const collection = useCollection(name);
  const list = useAsked(['records', name], (client, signal) => client.records(name).list({}, { signal }));
  return (
    <Page title={collection ? titleOf(collection) : name}>
      <Asked query={list} asked={{ resource: name, action: 'list' }}>
        {({ data }) => <pre>{JSON.stringify(data, null, 1)}</pre>}
      </Asked>
    </Page>
  );
}

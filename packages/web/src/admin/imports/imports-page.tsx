import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { ListPage } from '../../data/list-page.tsx';
import { useSchema } from '../../data/schema.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { type ImportRecord, isRunning } from './dto.ts';
import { useImports } from './import-queries.ts';
import { ImportStateBadge } from './import-state.tsx';

/** The imports that the user can see: the running ones with their progress, and the results of earlier ones. */
export function ImportsPage(): ReactNode {
  const t = useImportTexts();
  const app = useApplication();
  const { data: schema } = useSchema();
  const imports = useImports();
  const titleOf = (name: string): string => {
    const collection = schema?.byName.get(name);
    return collection ? getTitle(collection) : name;
  };
  return (
    <ListPage
      title={t.list.title}
      description={t.list.description}
      resource="imports"
      query={imports}
      empty={{ icon: 'table', title: t.list.emptyTitle, text: t.list.emptyText }}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t.list.file,
          render: ({ id, filename }) => (
            <TextLink to="/a/$app/imports/$import" params={{ app, import: String(id) }} fw={500}>
              {filename ?? t.run.title(String(id))}
            </TextLink>
          ),
        },
        { title: t.list.collection, render: ({ collection }) => <Text size="sm">{titleOf(collection)}</Text> },
        { title: t.list.state, render: (record) => <ImportStateBadge record={record} /> },
        { title: t.list.rows, number: true, render: (record) => <span className="tabular">{formatRows(record)}</span> },
        { title: t.run.refused, number: true, render: ({ refused }) => refused.toLocaleString('en') },
        { title: t.list.started, render: ({ createdAt }) => <DateTime value={createdAt} /> },
      ]}
    />
  );
}

function formatRows(record: ImportRecord): string {
  const { processed, rows } = record;
  const done = processed.toLocaleString('en');
  return isRunning(record) && rows !== null ? `${done} / ${rows.toLocaleString('en')}` : done;
}

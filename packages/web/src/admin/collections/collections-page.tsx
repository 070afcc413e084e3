import { Group, Stack, Text, TextInput, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import { type Schema, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { RunningImports } from '../imports/running-imports.tsx';

/** The list of collections, with a link to create one. */
export function CollectionsPage(): ReactNode {
  const t = useTexts().data.collections;
  const app = useApplication();
  const schema = useSchema();
  const create = schema.data?.may('collections', 'create') && (
    <>
      {schema.data.may('files', 'upload') && (
        <ButtonLink
          variant="default"
          to="/a/$app/collections/import"
          params={{ app }}
          search={{}}
          leftSection={<Icon name="upload" />}
        >
          {t.createFromFile}
        </ButtonLink>
      )}
      <ButtonLink to="/a/$app/collections/new" params={{ app }} leftSection={<Icon name="plus" />}>
        {t.create}
      </ButtonLink>
    </>
  );
  return (
    <Page title={t.title} actions={create}>
      <RunningImports collection={null} />
      <QueryBoundary query={schema} permission={{ resource: 'collections', action: 'list' }}>
        {(data) => <Collections schema={data} create={create} />}
      </QueryBoundary>
    </Page>
  );
}

function Collections({ schema, create }: { schema: Schema; create: ReactNode }): ReactNode {
  const t = useTexts().data.collections;
  const [text, setText] = useState('');
  const searchText = text.toLowerCase();
  const found = schema.collections.filter((each) =>
    `${each.name} ${getTitle(each)}`.toLowerCase().includes(searchText),
  );
  const userCollections = found.filter((each) => !each.system);
  const systemCollections = found.filter((each) => each.system);
  return (
    <Stack>
      <TextInput
        aria-label={t.filter}
        placeholder={t.filter}
        leftSection={<Icon name="search" />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        maw={320}
      />
      {schema.collections.every((each) => each.system) && (
        <Empty icon="table" title={t.emptyTitle} text={t.emptyText}>
          <Group justify="center" gap="xs">
            {create}
          </Group>
        </Empty>
      )}
      {userCollections.length > 0 && <CollectionTable title={t.yours} collections={userCollections} />}
      {systemCollections.length > 0 && <CollectionTable title={t.system} collections={systemCollections} />}
      {found.length === 0 && <Empty icon="search" title={t.noneMatch} />}
    </Stack>
  );
}

function CollectionTable({ title, collections }: { title: string; collections: readonly Collection[] }): ReactNode {
  const t = useTexts();
  const app = useApplication();
  const relations = (each: Collection): number => each.fields.filter((field) => field.target).length;
  return (
    <section aria-label={title}>
      <Title order={2} mb="xs">
        {title}
      </Title>
      <ListTable
        label={title}
        rows={collections}
        keyOf={(each) => each.name}
        columns={[
          {
            title: t.common.name,
            width: '30%',
            render: (each) => (
              <TextLink to="/a/$app/data/$collection" params={{ app, collection: each.name }} fw={500}>
                {getTitle(each)}
              </TextLink>
            ),
          },
          { title: t.data.collections.fieldCount, width: 80, number: true, render: (each) => each.fields.length },
          { title: t.data.collections.relationCount, width: 90, number: true, render: relations },
          {
            title: t.common.description,
            render: (each) => (
              <Text size="sm" c="dimmed">
                {each.description}
              </Text>
            ),
          },
          {
            title: '',
            width: 110,
            render: (each) => (
              <TextLink to="/a/$app/collections/$collection" params={{ app, collection: each.name }} size="sm">
                {t.data.collections.definition}
              </TextLink>
            ),
          },
        ]}
      />
    </section>
  );
}

import { Badge, Stack, Table, TextInput, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { Asked } from '../../data/problem.tsx';
import { type Schema, titleOf, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';

/** Every collection of the application, and the way to a new one. */
export function CollectionsPage(): ReactNode {
  const t = useTexts().data.collections;
  const schema = useSchema();
  return (
    <Page title={t.title}>
      <Asked query={schema} asked={{ resource: 'collections', action: 'list' }}>
        {(data) => <Collections schema={data} />}
      </Asked>
    </Page>
  );
}

function Collections({ schema }: { schema: Schema }): ReactNode {
  const t = useTexts().data.collections;
  const [text, setText] = useState('');
  const wanted = text.toLowerCase();
  const found = schema.collections.filter((each) => `${each.name} ${titleOf(each)}`.toLowerCase().includes(wanted));
  const own = found.filter((each) => !each.system);
  const system = found.filter((each) => each.system);
  if (schema.collections.every((each) => each.system) && text === '')
    return <Empty icon="table" title={t.emptyTitle} text={t.emptyText} />;
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
      {own.length > 0 && <CollectionTable title={t.yours} collections={own} />}
      {system.length > 0 && <CollectionTable title={t.system} collections={system} />}
      {found.length === 0 && <Empty icon="search" title={t.noneMatch} />}
    </Stack>
  );
}

function CollectionTable({ title, collections }: { title: string; collections: readonly Collection[] }): ReactNode {
  const t = useTexts();
  const application = useApplication();
  return (
    <section aria-label={title}>
      <Title order={2} mb="xs">
        {title}
      </Title>
      <Table highlightOnHover verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.common.name}</Table.Th>
            <Table.Th>{t.data.collections.fields(2).replace(/^\d+ /, '')}</Table.Th>
            <Table.Th>{t.common.description}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {collections.map((each) => (
            <Table.Tr key={each.name}>
              <Table.Td>
                <TextLink to="/a/$app/data/$collection" params={{ app: application, collection: each.name }}>
                  {titleOf(each)}
                </TextLink>
              </Table.Td>
              <Table.Td>
                <Badge variant="light" color="gray">
                  {each.fields.length}
                </Badge>
              </Table.Td>
              <Table.Td c="dimmed">{each.description}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

/** The definition of one collection: its labels, its fields, and the button that deletes it. */
import { Stack, Text } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import { type Schema, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { CollectionSettings } from './collection-settings.tsx';
import { DestroyCollection } from './destroy-collection.tsx';
import { FieldList } from './field-list.tsx';
import { IndexAdviceSection } from './index-advice.tsx';

export function DefinitionPage(): ReactNode {
  const { collection: name = '' } = useParams({ strict: false });
  const t = useTexts();
  const application = useApplication();
  const schema = useSchema();
  const collection = schema.data?.definitions.get(name);
  const params = { app: application, collection: name };
  return (
    <Page
      title={collection ? getTitle(collection) : name}
      description={collection?.description}
      above={
        <>
          <TextLink to="/a/$app/data" params={params}>
            {t.data.collections.title}
          </TextLink>{' '}
          / {name}
        </>
      }
      actions={
        <ButtonLink variant="default" to="/a/$app/data/$collection" params={params} leftSection={<Icon name="table" />}>
          {t.data.definition.openRecords}
        </ButtonLink>
      }
    >
      <QueryBoundary query={schema}>
        {(data) =>
          collection ? (
            <Definition key={name} collection={collection} schema={data} />
          ) : (
            <Empty icon="search" title={t.common.problem.notFoundTitle} text={name} />
          )
        }
      </QueryBoundary>
    </Page>
  );
}

function Definition({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const t = useTexts().data.definition;
  const may = (resource: string, action: string): boolean => schema.mayReadDefinitions && schema.may(resource, action);
  const mayChangeFields = ['create', 'update', 'destroy'].some((action) => may('fields', action));
  return (
    <Stack gap="xl">
      {!mayChangeFields && <Text c="dimmed">{t.readOnly}</Text>}
      {collection.system && <Text c="dimmed">{t.systemText}</Text>}
      <FieldList collection={collection} schema={schema} />
      {may('collections', 'update') && !collection.system && (
        <>
          {may('collections', 'list') && <IndexAdviceSection collection={collection} />}
          {/* The form starts again when its indexes are changed elsewhere: saving it would undo the change. */}
          <CollectionSettings key={keyOfIndexes(collection)} collection={collection} />
        </>
      )}
      {may('collections', 'destroy') && !collection.system && <DestroyCollection collection={collection} />}
    </Stack>
  );
}

function keyOfIndexes({ options: { indexes = [], search = [] } }: Collection): string {
  return JSON.stringify([indexes, search]);
}

/** The records of one collection: a grid, what narrows it, and what is done with many at once. */
import { Alert, Anchor, Button } from '@mantine/core';
import type { Collection, Field, Key } from '@tablinum/client';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getErrorMessage, Problem, QueryBoundary } from '../../data/problem.tsx';
import { findKeyField } from '../../data/records/label.ts';
import { getTitle, getWriteName, type Schema, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Waiting } from '../../ui/states.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { listColumnFields, useColumns } from './columns.ts';
import { ConflictDialog } from './conflict.tsx';
import { Grid, maxRows } from './grid.tsx';
import { NothingFound } from './nothing-found.tsx';
import classes from './records-page.module.css';
import type { RecordsSearch } from './records-search.ts';
import { RecordsTools } from './records-tools.tsx';
import { UnsavedEdits } from './unsaved-edits.tsx';
import { useCellSaving } from './use-cell-saving.ts';
import { useRows } from './use-rows.ts';
import { rememberView } from './view-memory.ts';

export function RecordsPage(): ReactNode {
  const { collection: name = '' } = useParams({ strict: false });
  const t = useTexts();
  const schema = useSchema();
  const collection = schema.data?.byName.get(name);
  if (!schema.data || !collection)
    return (
      <Page title={name} above={<Above />}>
        <QueryBoundary query={schema}>
          {() => <Empty icon="search" title={t.common.problem.notFoundTitle} text={name} />}
        </QueryBoundary>
      </Page>
    );
  return <Records key={name} collection={collection} schema={schema.data} />;
}

function Above(): ReactNode {
  const t = useTexts().data.collections;
  const app = useApplication();
  return (
    <TextLink to="/a/$app/data" params={{ app }}>
      {t.title}
    </TextLink>
  );
}

function Records({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const {
    common: { retry },
    data: { records: t },
  } = useTexts();
  const application = useApplication();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as RecordsSearch;
  const [choice, changeChoice] = useColumns(application, collection);
  const [selected, select] = useState<ReadonlySet<Key>>(new Set());
  const [allSelected, selectAll] = useState(false);
  const selectKeys = (keys: ReadonlySet<Key>): void => {
    selectAll(false);
    select(keys);
  };
  const { rows, view, reload } = useRows(collection, choice.shown, search);
  const state = useSyncExternalStore(rows.subscribe, rows.snapshot);
  const saving = useCellSaving(collection, rows);
  const fields = useMemo(() => {
    const fieldsByName = new Map(listColumnFields(collection).map((field) => [field.name, field]));
    return choice.shown.flatMap((name) => fieldsByName.get(name) ?? []);
  }, [collection, choice.shown]);
  const sort = useMemo(() => search.sort?.split(',') ?? [], [search.sort]);
  useEffect(() => rememberView(application, collection.name, search), [application, collection.name, search]);
  const go = (change: { readonly [name in keyof RecordsSearch]?: unknown }): void => {
    const next = Object.fromEntries(
      Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined && value !== ''),
    );
    void navigate({ to: '.', search: next as never, replace: true });
    selectKeys(new Set());
  };
  const trash = search.trash === true;
  const params = { app: application, collection: collection.name };
  const editable = (field: Field): boolean =>
    !trash &&
    !field.readOnly &&
    !field.primaryKey &&
    (!field.target || field.type === 'belongsTo') &&
    schema.mayWrite(collection.name, 'update', getWriteName(field));
  // The server's own collections have pages of their own for what is made in them.
  const create = schema.may(collection.name, 'create') && !trash && !collection.system && (
    <ButtonLink to="/a/$app/data/$collection/new" params={params} leftSection={<Icon name="plus" />}>
      {t.new}
    </ButtonLink>
  );
  const definition = schema.mayReadDefinitions && (
    <ButtonLink variant="default" to="/a/$app/collections/$collection" params={params}>
      {t.definition}
    </ButtonLink>
  );
  return (
    <Page
      filled
      title={getTitle(collection)}
      description={
        state.count !== null && (
          <span className="tabular" data-testid="count">
            {search.q || search.filter
              ? t.countFiltered(state.count, state.countIsEstimate)
              : t.count(state.count, state.countIsEstimate)}
          </span>
        )
      }
      actions={
        <>
          {definition}
          {create}
        </>
      }
    >
      <div className={classes.tools}>
        <RecordsTools collection={collection} search={search} go={go} choice={choice} changeChoice={changeChoice} />
        <div className={classes.end}>
          {state.added > 0 && (
            <Button variant="light" onClick={reload}>
              {t.added(state.added)}
            </Button>
          )}
          <IconButton icon="refresh" label={t.refresh} onClick={reload} />
        </div>
      </div>
      {(selected.size > 0 || allSelected) && (
        <BulkBar
          collection={collection}
          schema={schema}
          rows={rows}
          selection={
            allSelected
              ? { kind: 'matching', query: view, keyField: findKeyField(collection).name, count: state.count ?? 0 }
              : { kind: 'keys', keys: [...selected] }
          }
          more={
            !allSelected && state.count !== null && selected.size < state.count && selected.size >= rows.loaded().length
              ? { count: state.count, estimate: state.countIsEstimate, select: () => selectAll(true) }
              : null
          }
          clear={() => selectKeys(new Set())}
          trash={trash}
          reload={reload}
        />
      )}
      <UnsavedEdits saving={saving} />
      {state.error && state.count !== null && (
        <Alert color="yellow" variant="light" role="status" icon={<Icon name="warning" />} className={classes.note}>
          {getErrorMessage(state.error)}{' '}
          <Anchor component="button" size="sm" onClick={() => rows.retry()}>
            {retry}
          </Anchor>
        </Alert>
      )}
      {state.count !== null && state.count > maxRows && <p className={classes.note}>{t.tooMany(maxRows)}</p>}
      {state.count === null && !state.error && (
        <div className={classes.waiting}>
          <Waiting rows={12} />
        </div>
      )}
      {state.error && state.count === null && (
        <>
          <Problem error={state.error} retry={reload} permission={{ resource: collection.name, action: 'list' }} />
          {(search.q || search.filter) && (
            <Button variant="subtle" mx="auto" onClick={() => go({ q: undefined, filter: undefined })}>
              {t.clearFilter}
            </Button>
          )}
        </>
      )}
      {state.count === 0 && (
        <NothingFound
          isNarrowed={Boolean(search.q || search.filter)}
          trash={trash}
          clear={() => go({ q: undefined, filter: undefined })}
          leaveTrash={() => go({ trash: undefined })}
          create={create}
        />
      )}
      {state.count !== null && state.count > 0 && (
        <Grid
          collection={collection}
          rows={rows}
          fields={fields}
          choice={choice}
          changeChoice={changeChoice}
          sort={sort}
          changeSort={(terms) => go({ sort: terms.length > 0 ? terms.join(',') : undefined })}
          selected={selected}
          select={selectKeys}
          positionKey={JSON.stringify([application, collection.name, view])}
          allSelected={allSelected}
          editable={editable}
          save={saving.save}
          open={(row) =>
            void navigate({ to: '/a/$app/data/$collection/$key', params: { ...params, key: String(row.key) } })
          }
        />
      )}
      <ConflictDialog conflict={saving.conflict} close={saving.closeConflict} />
    </Page>
  );
}

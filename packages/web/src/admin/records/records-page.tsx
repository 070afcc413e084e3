/** The records of one collection: a grid, what narrows it, and what is done with many at once. */
import { Badge, Button, Modal, Popover, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import type { Collection, Key } from '@tablinum/client';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { useLive } from '../../data/live.ts';
import { Asked, Problem } from '../../data/problem.tsx';
import { leaveIfOver, useScope } from '../../data/queries.ts';
import { keyField } from '../../data/records/label.ts';
import { RowWindow, type Shown } from '../../data/records/row-window.ts';
import { type Schema, titleOf, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ButtonLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Waiting } from '../../ui/states.tsx';
import { FilterBuilder } from '../filter/filter-builder.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { ColumnMenu } from './column-menu.tsx';
import { columnFields, useColumns } from './columns.ts';
import { ConflictDialog } from './conflict.tsx';
import { Grid, mostRows } from './grid.tsx';
import classes from './records-page.module.css';
import type { RecordsSearch } from './records-search.ts';
import { useCellSaving } from './use-cell-saving.ts';

export function RecordsPage(): ReactNode {
  const { collection: name = '' } = useParams({ strict: false });
  const t = useTexts();
  const schema = useSchema();
  const collection = schema.data?.byName.get(name);
  if (!schema.data || !collection)
    return (
      <Page title={name}>
        <Asked query={schema}>{() => <Empty icon="search" title={t.common.problem.notFoundTitle} text={name} />}</Asked>
      </Page>
    );
  return <Records key={name} collection={collection} schema={schema.data} />;
}

/** To-one relations come along, so that a cell says who and not which number. */
function shownOf(collection: Collection, names: readonly string[], { q, filter, sort, trash }: RecordsSearch): Shown {
  const appends = collection.fields
    .filter((field) => field.target && names.includes(field.name))
    .map((field) => field.name);
  return {
    ...(q && { search: q }),
    ...(filter && { filter }),
    ...(sort && { sort: sort.split(',') }),
    ...(appends.length > 0 && { appends }),
    ...(trash && { onlyDeleted: true }),
  };
}

function Records({ collection, schema }: { collection: Collection; schema: Schema }): ReactNode {
  const t = useTexts().data.records;
  const application = useApplication();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as RecordsSearch;
  const [choice, changeChoice] = useColumns(application, collection);
  const [selected, select] = useState<ReadonlySet<Key>>(new Set());
  const [readings, setReadings] = useState(0);
  const { rows, readAgain } = useRows(collection, choice.shown, search, readings, () => setReadings(readings + 1));
  const state = useSyncExternalStore(rows.subscribe, rows.snapshot);
  const saving = useCellSaving(collection, rows);
  const fields = useMemo(() => {
    const byName = new Map(columnFields(collection).map((field) => [field.name, field]));
    return choice.shown.flatMap((name) => byName.get(name) ?? []);
  }, [collection, choice.shown]);
  const sort = useMemo(() => search.sort?.split(',') ?? [], [search.sort]);
  const go = (change: Partial<Record<keyof RecordsSearch, unknown>>): void => {
    const next = Object.fromEntries(
      Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined && value !== ''),
    );
    void navigate({ to: '.', search: next as never, replace: true });
    select(new Set());
  };
  const params = { app: application, collection: collection.name };
  const mayUpdate = schema.may(collection.name, 'update') && !search.trash;
  const narrowed = Boolean(search.q || search.filter);
  return (
    <Page
      filled
      title={titleOf(collection)}
      description={
        state.count !== null && (
          <span className="tabular" data-testid="count">
            {narrowed
              ? t.countFiltered(state.count, state.countIsEstimate)
              : t.count(state.count, state.countIsEstimate)}
          </span>
        )
      }
      actions={
        <>
          {schema.configures && (
            <ButtonLink variant="default" to="/a/$app/collections/$collection" params={params}>
              {t.definition}
            </ButtonLink>
          )}
          {schema.may(collection.name, 'create') && !search.trash && (
            <ButtonLink to="/a/$app/data/$collection/new" params={params} leftSection={<Icon name="plus" />}>
              {t.new}
            </ButtonLink>
          )}
        </>
      }
    >
      <div className={classes.tools}>
        <SearchField key={search.q ?? ''} text={search.q ?? ''} go={(q) => go({ q })} />
        <FilterButton collection={collection} search={search} go={go} />
        <ColumnMenu collection={collection} choice={choice} change={changeChoice} />
        {collection.options.paranoid && (
          <Button
            variant={search.trash ? 'light' : 'default'}
            leftSection={<Icon name="trash" />}
            aria-pressed={search.trash === true}
            onClick={() => go({ trash: search.trash ? undefined : true })}
          >
            {t.trash}
          </Button>
        )}
        <div className={classes.end}>
          {state.added > 0 && (
            <Button variant="light" onClick={readAgain}>
              {t.added(state.added)}
            </Button>
          )}
          <IconButton icon="refresh" label={t.refresh} onClick={readAgain} />
        </div>
      </div>
      {selected.size > 0 && (
        <BulkBar
          collection={collection}
          schema={schema}
          rows={rows}
          selected={selected}
          clear={() => select(new Set())}
          trash={search.trash === true}
          readAgain={readAgain}
        />
      )}
      {state.count !== null && state.count > mostRows && <p className={classes.note}>{t.tooMany(mostRows)}</p>}
      {state.count === null && !state.error && (
        <div className={classes.waiting}>
          <Waiting rows={12} />
        </div>
      )}
      {state.error && state.count === null && (
        <Problem error={state.error} retry={readAgain} asked={{ resource: collection.name, action: 'list' }} />
      )}
      {state.count === 0 && (
        <Nothing
          narrowed={narrowed}
          trash={search.trash === true}
          clear={() => go({ q: undefined, filter: undefined })}
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
          select={select}
          editable={(field) =>
            mayUpdate && !field.readOnly && !field.primaryKey && (!field.target || field.type === 'belongsTo')
          }
          save={saving.save}
          open={(row) =>
            void navigate({ to: '/a/$app/data/$collection/$key', params: { ...params, key: String(row.key) } })
          }
        />
      )}
      <ConflictDialog conflict={saving.conflict} close={saving.settled} />
    </Page>
  );
}

/** The rows of what is asked for; live while they are shown. */
function useRows(
  collection: Collection,
  names: readonly string[],
  search: RecordsSearch,
  readings: number,
  readAgain: () => void,
): { rows: RowWindow; readAgain: () => void } {
  const [application, role] = useScope();
  const shown = JSON.stringify(shownOf(collection, names, search));
  const key = keyField(collection).name;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another role, or the wish to read again, is another reading
  const rows = useMemo(
    () => new RowWindow(clientOf(application), collection.name, key, JSON.parse(shown) as Shown),
    [application, role, collection.name, key, shown, readings],
  );
  useEffect(() => {
    rows.ensure(0, 0);
    return rows.subscribe(() => leaveIfOver(rows.state.error, application));
  }, [rows, application]);
  useLive(
    collection.name,
    ({ name, tk }) => {
      if (tk === null) return;
      if (name.endsWith('.created') || name.endsWith('.restored')) rows.noteAdded(tk);
      else if (name.endsWith('.updated')) rows.refresh(tk);
      else rows.markGone([tk]);
    },
    readAgain,
  );
  return { rows, readAgain };
}

function SearchField({ text, go }: { text: string; go: (text: string) => void }): ReactNode {
  const t = useTexts().data.records;
  const [typed, setTyped] = useState(text);
  const settle = useDebouncedCallback(go, 300);
  return (
    <TextInput
      className={classes.search}
      type="search"
      aria-label={t.search}
      placeholder={t.search}
      leftSection={<Icon name="search" />}
      value={typed}
      autoFocus={text !== ''}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        settle(event.currentTarget.value);
      }}
    />
  );
}

function FilterButton({
  collection,
  search,
  go,
}: {
  collection: Collection;
  search: RecordsSearch;
  go: (change: Partial<RecordsSearch>) => void;
}): ReactNode {
  const t = useTexts().data.records;
  const [opened, setOpened] = useState(false);
  const narrow = matchMedia('(max-width: 48em)').matches;
  const builder = (
    <FilterBuilder
      key={JSON.stringify(search.filter)}
      collection={collection}
      filter={search.filter}
      apply={(filter) => {
        setOpened(false);
        go({ filter: filter as never });
      }}
    />
  );
  const button = (
    <Button
      variant={search.filter ? 'light' : 'default'}
      leftSection={<Icon name="filter" />}
      rightSection={
        search.filter && (
          <Badge size="xs" circle>
            {countOf(search.filter)}
          </Badge>
        )
      }
      onClick={() => setOpened(!opened)}
    >
      {t.filter}
    </Button>
  );
  if (narrow)
    return (
      <>
        {button}
        <Modal opened={opened} onClose={() => setOpened(false)} fullScreen title={t.filter}>
          {builder}
        </Modal>
      </>
    );
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      width={640}
      position="bottom-start"
      shadow="md"
      trapFocus
      withinPortal
    >
      <Popover.Target>{button}</Popover.Target>
      <Popover.Dropdown aria-label={t.filter}>{builder}</Popover.Dropdown>
    </Popover>
  );
}

function countOf(filter: object): number {
  const [first] = Object.values(filter) as unknown[];
  return Array.isArray(first) ? first.length : Object.keys(filter).length;
}

function Nothing({ narrowed, trash, clear }: { narrowed: boolean; trash: boolean; clear: () => void }): ReactNode {
  const t = useTexts().data.records;
  if (narrowed)
    return (
      <Empty icon="search" title={t.noneFoundTitle} text={t.noneFoundText}>
        <Button variant="default" onClick={clear}>
          {t.clearFilter}
        </Button>
      </Empty>
    );
  if (trash) return <Empty icon="trash" title={t.emptyTrashTitle} text={t.emptyTrashText} />;
  return <Empty icon="table" title={t.emptyTitle} text={t.emptyText} />;
}

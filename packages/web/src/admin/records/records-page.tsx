/** The records of one collection: a grid, the tools that narrow it, and bulk actions. */
import { Button } from '@mantine/core';
import type { Collection, Field } from '@tablinum/client';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import type { RowWindow } from '../../data/records/row-window.ts';
import { type Schema, useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { useStore } from '../../ui/store.ts';
import { RunningImports } from '../imports/running-imports.tsx';
import { listColumnFields, useColumns } from './columns.ts';
import { ConflictDialog } from './conflict.tsx';
import { ExportButton } from './export-dialog.tsx';
import { Grid } from './grid.tsx';
import type { CellPosition } from './grid-navigation.ts';
import { PasteButton } from './paste-button.tsx';
import { PasteDialog } from './paste-dialog.tsx';
import classes from './records-page.module.css';
import { changeSearch, type GoToSearch, isNarrowed, type RecordsSearch } from './records-search.ts';
import { RecordsSelectionBar } from './records-selection-bar.tsx';
import { RecordsState } from './records-state.tsx';
import { RecordsTools } from './records-tools.tsx';
import { UnsavedEdits } from './unsaved-edits.tsx';
import { useCellSaving } from './use-cell-saving.ts';
import { useGridPaste } from './use-grid-paste.ts';
import { useRecordSelection } from './use-record-selection.ts';
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

interface RecordsProps {
  readonly collection: Collection;
  readonly schema: Schema;
}

function Records({ collection, schema }: RecordsProps): ReactNode {
  const t = useTexts().data.records;
  const application = useApplication();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as RecordsSearch;
  const [choice, changeChoice] = useColumns(application, collection);
  const selection = useRecordSelection();
  const { rows, view, reload } = useRows(collection, choice.shown, search);
  const { count } = useStore(rows);
  const saving = useCellSaving(collection, rows);
  const fields = useShownFields(collection, choice.shown);
  const isEditable = (field: Field): boolean => search.trash !== true && mayEdit(collection, schema, field);
  const isCreatable = mayCreate(collection, schema, search);
  const pasting = useGridPaste({ collection, schema, rows, fields, mayUpdate: isEditable, mayCreate: isCreatable });
  const isPastable = isCreatable || fields.some(isEditable);
  const activeCell = useRef<CellPosition>({ row: 0, column: 0 });
  const sort = useMemo(() => search.sort?.split(',') ?? [], [search.sort]);
  useEffect(() => rememberView(application, collection.name, search), [application, collection.name, search]);
  const go: GoToSearch = (change) => {
    void navigate({ to: '.', search: changeSearch(search, change) as never, replace: true });
    selection.clear();
  };
  const params = { app: application, collection: collection.name };
  const create = isCreatable && (
    <ButtonLink to="/a/$app/data/$collection/new" params={params} leftSection={<Icon name="plus" />}>
      {t.new}
    </ButtonLink>
  );
  return (
    <Page
      filled
      title={getTitle(collection)}
      description={count !== null && <RecordCount rows={rows} narrowed={isNarrowed(search)} />}
      actions={
        <>
          {schema.mayReadDefinitions && <DefinitionLink collection={collection} />}
          {mayExport(collection, schema) && (
            <ExportButton
              collection={collection}
              list={{ view, selected: [...selection.selected], fields, targets: schema.byName }}
              allSelected={selection.allSelected}
            />
          )}
          {mayImport(collection, schema) && (
            <ButtonLink
              variant="default"
              to="/a/$app/data/$collection/import"
              params={params}
              search={{}}
              leftSection={<Icon name="upload" />}
            >
              {t.import}
            </ButtonLink>
          )}
          {create}
        </>
      }
    >
      <div className={classes.tools}>
        <RecordsTools collection={collection} search={search} go={go} choice={choice} changeChoice={changeChoice} />
        <div className={classes.end}>
          {isPastable && <PasteButton paste={(text) => pasting.paste(activeCell.current, text)} />}
          <ReloadButtons rows={rows} reload={reload} />
        </div>
      </div>
      <RecordsSelectionBar {...{ collection, schema, rows, view, selection, reload }} trash={search.trash === true} />
      <RunningImports collection={collection.name} />
      <UnsavedEdits saving={saving} />
      <RecordsState {...{ collection, rows, search, go, reload, create }} />
      {count !== null && count > 0 && (
        <Grid
          collection={collection}
          rows={rows}
          fields={fields}
          choice={choice}
          changeChoice={changeChoice}
          sort={sort}
          changeSort={(terms) => go({ sort: terms.length > 0 ? terms.join(',') : undefined })}
          selected={selection.selected}
          select={selection.select}
          positionKey={JSON.stringify([application, collection.name, view])}
          allSelected={selection.allSelected}
          editable={isEditable}
          save={saving.save}
          open={({ key }) =>
            void navigate({ to: '/a/$app/data/$collection/$key', params: { ...params, key: String(key) } })
          }
          paste={isPastable ? pasting.paste : null}
          undo={pasting.undo}
          redo={pasting.redo}
          activeCell={activeCell}
        />
      )}
      <PasteDialog {...pasting} />
      <ConflictDialog conflict={saving.conflict} close={saving.closeConflict} />
    </Page>
  );
}

/** The fields of the shown columns, in their order. */
function useShownFields(collection: Collection, names: readonly string[]): readonly Field[] {
  return useMemo(() => {
    const fieldsByName = new Map(listColumnFields(collection).map((field) => [field.name, field]));
    return names.flatMap((name) => fieldsByName.get(name) ?? []);
  }, [collection, names]);
}

/** Records of system collections are created on pages of their own. */
function mayCreate(collection: Collection, schema: Schema, search: RecordsSearch): boolean {
  return schema.may(collection.name, 'create') && search.trash !== true && !collection.system;
}

/** E-mails are exported as messages, on the page of their account. */
function mayExport(collection: Collection, schema: Schema): boolean {
  return collection.name !== 'emails' && schema.may(collection.name, 'export');
}

/** Records of system collections are not imported here. */
function mayImport({ name, system }: Collection, { may }: Schema): boolean {
  return !system && may(name, 'import') && (may(name, 'create') || (may(name, 'update') && may(name, 'list')));
}

function mayEdit(collection: Collection, schema: Schema, field: Field): boolean {
  return (
    !field.readOnly &&
    !field.primaryKey &&
    field.type !== 'file' && // files are chosen on the page of the record
    (!field.target || field.type === 'belongsTo') &&
    schema.mayWrite(collection.name, 'update', getWriteName(field))
  );
}

function DefinitionLink({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts().data.records;
  const app = useApplication();
  return (
    <ButtonLink variant="default" to="/a/$app/collections/$collection" params={{ app, collection: collection.name }}>
      {t.definition}
    </ButtonLink>
  );
}

function RecordCount({ rows, narrowed }: { rows: RowWindow; narrowed: boolean }): ReactNode {
  const t = useTexts().data.records;
  const { count, countIsEstimate } = useStore(rows);
  return (
    <span className="tabular" data-testid="count">
      {(narrowed ? t.countFiltered : t.count)(count ?? 0, countIsEstimate)}
    </span>
  );
}

/** Reads the list again; says how many records were created since. */
function ReloadButtons({ rows, reload }: { rows: RowWindow; reload: () => void }): ReactNode {
  const t = useTexts().data.records;
  const { added } = useStore(rows);
  return (
    <>
      {added > 0 && (
        <Button variant="light" onClick={reload}>
          {t.added(added)}
        </Button>
      )}
      <IconButton icon="refresh" label={t.refresh} onClick={reload} />
    </>
  );
}

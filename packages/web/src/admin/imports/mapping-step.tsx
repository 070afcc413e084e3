/** The second step: which column of the file goes to which field, and which records are written. */
import { Alert, Button, Checkbox, Group, MultiSelect, Select, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import type { Schema } from '../../data/schema.ts';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import type { ImportMode, ImportPreview, PreviewColumn } from './dto.ts';
import {
  type ColumnTarget,
  findMappingProblem,
  getColumnId,
  getTarget,
  type ImportDraft,
  listMapping,
  listMatchFields,
  listModes,
  listRepeatedFields,
  listTargetFields,
  type TargetField,
} from './import-draft.ts';
import { PreviewTable } from './preview-table.tsx';
import { SourceForm } from './source-form.tsx';
import classes from './steps.module.css';
import { StepHeading } from './steps.tsx';

interface MappingStepProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly preview: ImportPreview;
  readonly draft: ImportDraft;
  readonly change: (part: Partial<ImportDraft>) => void;
  readonly back: () => void;
  readonly next: () => void;
}

export function MappingStep(props: MappingStepProps): ReactNode {
  const { collection, schema, preview, draft, change, back, next } = props;
  const t = useImportTexts().mapping;
  const fields = listTargetFields(collection, schema, draft.mode);
  const mapping = listMapping(draft, preview, fields);
  const problem = findMappingProblem(draft, mapping, collection);
  const shown = mapping.map(({ column, field }) => ({
    index: preview.columns.findIndex(({ index }) => index === column),
    title: fields.find(({ name }) => name === field)?.title ?? field,
  }));
  return (
    <Stack>
      <StepHeading>{t.title}</StepHeading>
      <SourceForm preview={preview} source={draft.source} change={(source) => change({ source })} />
      <ModeForm {...{ collection, schema, draft, change, fields }} mapped={mapping.map(({ field }) => field)} />
      <ColumnTable {...{ preview, draft, change, fields, schema }} repeated={listRepeatedFields(mapping)} />
      {schema.may('fields', 'update') &&
        mapsChoices(
          fields,
          shown.map(({ title }) => title),
        ) && (
          <Checkbox
            label={t.addOptions}
            checked={draft.addOptions}
            onChange={({ currentTarget }) => change({ addOptions: currentTarget.checked })}
          />
        )}
      <section>
        <Title order={3} mb="xs">
          {t.preview}
        </Title>
        {shown.length > 0 && preview.rows.length > 0 ? (
          <PreviewTable preview={preview} columns={shown} />
        ) : (
          <Text c="dimmed">{preview.rows.length === 0 ? t.noRows : t.nothing}</Text>
        )}
      </section>
      {problem && (
        <Alert color="yellow" variant="light" role="status" icon={<Icon name="warning" />}>
          {t.problems[problem]}
        </Alert>
      )}
      <Group justify="space-between">
        <Button variant="default" onClick={back}>
          {t.otherFile}
        </Button>
        <Button disabled={problem !== null} onClick={next}>
          {t.check}
        </Button>
      </Group>
    </Stack>
  );
}

function mapsChoices(fields: readonly TargetField[], titles: readonly string[]): boolean {
  return fields.some(({ field, title }) => field.type === 'select' && titles.includes(title));
}

interface ModeFormProps extends Pick<MappingStepProps, 'collection' | 'schema' | 'draft' | 'change'> {
  readonly fields: readonly TargetField[];
  /** The names of the imported fields. */
  readonly mapped: readonly string[];
}

/** Whether records are created or updated, and how they are found. */
function ModeForm({ collection, schema, draft, change, fields, mapped }: ModeFormProps): ReactNode {
  const t = useImportTexts().mapping;
  const modes = listModes(collection.name, schema);
  const mapping = mapped.map((field) => ({ column: 0, field }));
  const choices = fields.filter(({ name }) => mapped.includes(name));
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Select
        label={t.mode}
        description={t.modeHints[draft.mode]}
        data={modes.map((value) => ({ value, label: t.modes[value] }))}
        value={draft.mode}
        onChange={(mode) => change({ mode: mode as ImportMode })}
        allowDeselect={false}
      />
      {draft.mode !== 'create' && (
        <MultiSelect
          label={t.matchFields}
          description={t.matchHint}
          data={choices.map(({ name, title }) => ({ value: name, label: title }))}
          value={listMatchFields(draft, mapping, collection)}
          onChange={(matchFields) => change({ matchFields })}
          searchable
        />
      )}
    </SimpleGrid>
  );
}

interface ColumnTableProps extends Pick<MappingStepProps, 'preview' | 'draft' | 'change' | 'schema'> {
  readonly fields: readonly TargetField[];
  readonly repeated: ReadonlySet<string>;
}

/** The columns of the file, each with its field. */
function ColumnTable({ preview, draft, change, schema, fields, repeated }: ColumnTableProps): ReactNode {
  const t = useImportTexts().mapping;
  const setTarget = (column: PreviewColumn, target: ColumnTarget): void =>
    change({ targets: { ...draft.targets, [getColumnId(column)]: target } });
  return (
    <ListTable
      label={t.columns}
      rows={preview.columns}
      keyOf={getColumnId}
      columns={[
        { title: t.column, render: ({ name, index }) => <LongText>{name || t.unnamed(index + 1)}</LongText> },
        {
          title: t.samples,
          render: ({ samples }) => <div className={classes.samples}>{samples.slice(0, 3).join(' · ')}</div>,
        },
        {
          title: t.field,
          width: '40%',
          render: (column) => (
            <TargetSelect
              column={column}
              target={getTarget(draft, column, fields)}
              change={(target) => setTarget(column, target)}
              fields={fields}
              schema={schema}
              isRepeated={repeated.has(getTarget(draft, column, fields).field ?? '')}
            />
          ),
        },
      ]}
    />
  );
}

interface TargetSelectProps {
  readonly column: PreviewColumn;
  readonly target: ColumnTarget;
  readonly change: (target: ColumnTarget) => void;
  readonly fields: readonly TargetField[];
  readonly schema: Schema;
  readonly isRepeated: boolean;
}

/** The field of a column, and for a relation the field by which the cells name the record. */
function TargetSelect({ column, target, change, fields, schema, isRepeated }: TargetSelectProps): ReactNode {
  const t = useImportTexts().mapping;
  const name = column.name || t.unnamed(column.index + 1);
  const chosen = fields.find((each) => each.name === target.field);
  const related = chosen?.field.target ? schema.byName.get(chosen.field.target) : undefined;
  const lookups = related?.fields.filter(({ unique, primaryKey }) => unique && !primaryKey) ?? [];
  return (
    <Stack gap={4} miw={190}>
      <Select
        aria-label={t.fieldFor(name)}
        data={[{ value: '', label: t.leaveOut }, ...fields.map(({ name: value, title: label }) => ({ value, label }))]}
        value={target.field ?? ''}
        onChange={(field) => change({ field: field || null, lookup: null })}
        error={isRepeated ? t.repeated : undefined}
        searchable
        allowDeselect={false}
      />
      {related && lookups.length > 0 && (
        <Select
          aria-label={t.lookupFor(name)}
          data={[
            { value: '', label: t.byKey(getTitle(related)) },
            ...lookups.map((field) => ({ value: field.name, label: t.byField(getTitle(related), getTitle(field)) })),
          ]}
          value={target.lookup ?? ''}
          onChange={(lookup) => change({ ...target, lookup: lookup || null })}
          allowDeselect={false}
        />
      )}
    </Stack>
  );
}

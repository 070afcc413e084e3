/** The second step for a new collection: the derived definition, as a table that can be edited. */
import { Button, Checkbox, Group, Select, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import { filterFieldProblems } from '../collections/collection-draft.ts';
import { type ColumnDraft, changeType, columnTypes, type DefinitionDraft, listIncluded } from './definition-draft.ts';
import type { NewCollectionPreview, SourceOptions } from './dto.ts';
import { PreviewTable } from './preview-table.tsx';
import { SourceForm } from './source-form.tsx';
import classes from './steps.module.css';
import { StepHeading } from './steps.tsx';

interface DefinitionStepProps {
  readonly preview: NewCollectionPreview;
  readonly source: SourceOptions;
  readonly changeSource: (source: SourceOptions) => void;
  readonly draft: DefinitionDraft;
  readonly change: (draft: DefinitionDraft) => void;
  /** Error details of the definition, by path. */
  readonly problems: Readonly<Record<string, string>>;
  readonly error: Error | null;
  readonly isPending: boolean;
  readonly back: () => void;
  readonly submit: () => void;
}

export function DefinitionStep(props: DefinitionStepProps): ReactNode {
  const { preview, source, changeSource, draft, change, problems, error, isPending, back, submit } = props;
  const t = useImportTexts();
  const td = useTexts().data.definition;
  const included = listIncluded(draft);
  return (
    <Stack>
      <StepHeading>{t.newCollection.fields}</StepHeading>
      <Text c="dimmed">{t.newCollection.text}</Text>
      <SourceForm preview={preview} source={source} change={changeSource} />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label={td.title}
          description={td.titleHint}
          value={draft.title}
          onChange={({ currentTarget }) => change({ ...draft, title: currentTarget.value })}
          error={problems['title']}
        />
        <TextInput
          label={td.name}
          description={td.nameHint}
          value={draft.name}
          onChange={({ currentTarget }) => change({ ...draft, name: currentTarget.value })}
          error={problems['name']}
          required
          autoCapitalize="none"
          spellCheck={false}
        />
      </SimpleGrid>
      <ColumnTable draft={draft} change={change} problems={problems} />
      {included.length > 0 && preview.rows.length > 0 && (
        <section>
          <Title order={3} mb="xs">
            {t.mapping.preview}
          </Title>
          <PreviewTable
            preview={preview}
            columns={included.map(({ index, field }) => ({
              index: preview.columns.findIndex((column) => column.index === index),
              title: field.title || field.name,
            }))}
          />
        </section>
      )}
      {included.length === 0 && <Text c="dimmed">{t.newCollection.noFields}</Text>}
      <FormProblem error={error} />
      <Group justify="space-between">
        <Button variant="default" onClick={back}>
          {t.mapping.otherFile}
        </Button>
        <PendingButton pending={isPending} disabled={included.length === 0 || draft.name === ''} onClick={submit}>
          {t.mapping.check}
        </PendingButton>
      </Group>
    </Stack>
  );
}

function ColumnTable({
  draft,
  change,
  problems,
}: Pick<DefinitionStepProps, 'draft' | 'change' | 'problems'>): ReactNode {
  const t = useImportTexts();
  const tn = t.newCollection;
  const names = useTexts().data.types.names as Readonly<Record<string, string>>;
  const update = (column: ColumnDraft, part: Partial<ColumnDraft>): void =>
    change({ ...draft, columns: draft.columns.map((each) => (each === column ? { ...each, ...part } : each)) });
  const included = listIncluded(draft);
  const getProblems = (column: ColumnDraft): Record<string, string> =>
    filterFieldProblems(problems, included.indexOf(column)) ?? {};
  const getName = ({ column, index }: ColumnDraft): string => column || t.mapping.unnamed(index + 1);
  return (
    <ListTable
      label={tn.fields}
      rows={draft.columns}
      keyOf={({ index }) => index}
      columns={[
        {
          title: tn.include,
          width: 60,
          render: (each) => (
            <Checkbox
              aria-label={tn.includeColumn(getName(each))}
              checked={each.isIncluded}
              onChange={({ currentTarget }) => update(each, { isIncluded: currentTarget.checked })}
            />
          ),
        },
        {
          title: tn.column,
          render: (each) => (
            <>
              <LongText>{getName(each)}</LongText>
              <div className={classes.samples}>{each.samples.slice(0, 2).join(' · ')}</div>
            </>
          ),
        },
        {
          title: tn.fieldTitle,
          render: (each) => (
            <TextCell
              label={tn.titleFor(getName(each))}
              value={each.field.title ?? ''}
              disabled={!each.isIncluded}
              error={getProblems(each)['title']}
              change={(title) => update(each, { field: { ...each.field, title } })}
            />
          ),
        },
        {
          title: tn.fieldName,
          render: (each) => (
            <TextCell
              label={tn.nameFor(getName(each))}
              value={each.field.name}
              disabled={!each.isIncluded}
              error={getProblems(each)['name']}
              change={(name) => update(each, { field: { ...each.field, name } })}
            />
          ),
        },
        {
          title: tn.type,
          render: (each) => (
            <Select
              miw={170}
              aria-label={tn.typeFor(getName(each))}
              data={[...new Set([each.field.type, ...columnTypes])].map((value) => ({
                value,
                label: names[value] ?? value,
              }))}
              value={each.field.type}
              disabled={!each.isIncluded}
              error={getProblems(each)['type']}
              onChange={(type) => type && update(each, { field: changeType(each.field, type) })}
              allowDeselect={false}
            />
          ),
        },
        {
          title: tn.required,
          width: 80,
          render: (each) => (
            <Checkbox
              aria-label={tn.requiredFor(getName(each))}
              checked={each.field.required ?? false}
              disabled={!each.isIncluded}
              onChange={({ currentTarget }) =>
                update(each, { field: { ...each.field, required: currentTarget.checked } })
              }
            />
          ),
        },
      ]}
    />
  );
}

interface TextCellProps {
  readonly label: string;
  readonly value: string;
  readonly disabled: boolean;
  readonly error: string | undefined;
  readonly change: (text: string) => void;
}

function TextCell({ label, value, disabled, error, change }: TextCellProps): ReactNode {
  return (
    <TextInput
      miw={140}
      aria-label={label}
      value={value}
      disabled={disabled}
      error={error}
      onChange={({ currentTarget }) => change(currentTarget.value)}
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}

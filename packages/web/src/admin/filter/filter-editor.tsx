/** Edits a filter as groups of conditions on fields and fields of linked records, or as JSON. */
import { Alert, Anchor, Group, JsonInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { type FilterDraft, parseFilterJson } from './filter-draft.ts';
import { maxFilterDepth } from './filter-model.ts';
import { GroupEditor } from './group-editor.tsx';
import { FilterCheckedContext } from './operand-input.tsx';

interface FilterEditorProps {
  readonly draft: FilterDraft;
  /** Variables such as `{{$user.id}}` that can be used as values; none by default. */
  readonly variables?: readonly string[];
  /** The text shown while there are no conditions. */
  readonly none?: string;
  /** Buttons next to the switch between conditions and JSON. */
  readonly children?: ReactNode;
}

const noVariables: readonly string[] = [];

export function FilterEditor({ draft, variables = noVariables, none, children }: FilterEditorProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const { json } = draft;
  return (
    <>
      {json === null ? (
        <FilterCheckedContext value={draft.isChecked}>
          <GroupEditor
            group={draft.group}
            change={draft.change}
            fields={draft.fields}
            variables={variables}
            none={none ?? t.none}
            remainingLevels={maxFilterDepth}
          />
        </FilterCheckedContext>
      ) : (
        <>
          {draft.isTooComplex && <Alert variant="light">{t.tooRich}</Alert>}
          <JsonInput
            label={t.json}
            description={t.jsonHint}
            value={json}
            onChange={draft.setJson}
            autosize
            minRows={5}
            formatOnBlur
            error={parseFilterJson(json) === null && t.noJson}
          />
        </>
      )}
      <Group justify="space-between">
        <Anchor
          component="button"
          type="button"
          size="sm"
          onClick={draft.toggle}
          disabled={json !== null && (draft.isTooComplex || parseFilterJson(json) === null)}
        >
          {json === null ? t.json : t.conditions}
        </Anchor>
        {children}
      </Group>
    </>
  );
}

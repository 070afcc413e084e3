/** The form of one rule: its actions, and the records and fields that it grants. It is stored as one permission. */
import { Alert, Button, Checkbox, Group, MultiSelect, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { FormProblem } from '../../data/problem.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Permission } from '../access/dto.ts';
import { emptyCollection, type FilterDraft, useFilterDraft } from '../filter/filter-draft.ts';
import { FilterEditor } from '../filter/filter-editor.tsx';
import { presets, recordActions } from './actions.ts';
import { findDecision, findRule, type Resource, type RoleRules } from './decision.ts';
import { type RuleValues, saveRule } from './save-rule.ts';

/** Variables that can be used as values in the filter of a rule. */
const variables = ['{{$user.id}}', '{{$user.email}}', '{{$user.username}}', '{{$role}}', '{{$now}}'];

type FieldMode = 'all' | 'only' | 'except';

interface RuleFormProps {
  readonly roleRules: RoleRules;
  readonly role: string;
  readonly resource: Resource;
  /** The action of the opened cell. */
  readonly action: string;
  /** Null for all collections and for names that are not collections. */
  readonly collection: Collection | null;
  readonly done: () => void;
}

export function RuleForm({ roleRules, role, resource, action, collection, done }: RuleFormProps): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const existingRule = findRule(roleRules.ownRules, resource.name, action);
  const [actions, setActions] = useState<readonly string[]>(
    existingRule?.actions ?? pickInitialActions(resource, action),
  );
  const [fields, setFields] = useState(() => toFieldChoice(existingRule));
  const filter = useFilterDraft(collection ?? emptyCollection, existingRule?.filter ?? undefined);
  const [problem, setProblem] = useState<string | null>(null);
  const { save, remove } = useRuleMutations(existingRule, roleRules.ownRules, done);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const rows = collection ? filter.parseComplete() : undefined;
    const nextProblem = actions.length === 0 ? access.rule.noActions : rows === null ? access.rule.badFilter : null;
    setProblem(nextProblem);
    if (nextProblem === null)
      save.mutate({ role, resource: resource.name, actions, filter: rows ?? null, ...toFieldLists(fields) });
  };
  const inherited = findDecision(
    { ...roleRules, ownRules: roleRules.ownRules.filter((each) => each.id !== existingRule?.id) },
    resource,
    action,
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="lg">
        <Actions actions={actions} change={setActions} resource={resource} />
        {collection ? (
          <>
            <Rows filter={filter} />
            <Fields choice={fields} change={setFields} collection={collection} />
          </>
        ) : (
          <Text size="sm" c="dimmed">
            {resource.kind === 'all' ? access.rule.wideOnly : access.rule.noRecords}
          </Text>
        )}
        {resource.kind !== 'all' && (
          <Text size="sm" c="dimmed">
            {access.rule.inherited(access.matrix.state[inherited.source])}
          </Text>
        )}
        {problem && (
          <Alert color="red" variant="light" role="alert">
            {problem}
          </Alert>
        )}
        <FormProblem error={save.error ?? remove.error} />
        <Group justify="space-between">
          {existingRule ? (
            <Button variant="light" color="red" onClick={() => remove.mutate(existingRule)} loading={remove.isPending}>
              {access.rule.remove}
            </Button>
          ) : (
            <span />
          )}
          <Group gap="xs">
            <Button variant="default" onClick={done}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={save.isPending}>
              {access.rule.save}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

/** Saves or deletes the rule, then closes the form. */
function useRuleMutations(existingRule: Permission | null, ownRules: readonly Permission[], done: () => void) {
  const access = useAccessTexts();
  const finish = (message: string) => (): void => {
    toast(message);
    done();
  };
  const save = useApiMutation<void, RuleValues>({
    write: (client, rule) => saveRule(client, rule, existingRule, ownRules),
    changes: ['roles', 'why'],
    done: finish(access.saved),
  });
  const remove = useApiMutation<unknown, Permission>({
    write: (client, { id }) => client.records('permissions').destroy(id),
    changes: ['roles', 'why'],
    done: finish(access.rule.removed),
  });
  return { save, remove };
}

/** The records that the rule applies to. */
function Rows({ filter }: { filter: FilterDraft }): ReactNode {
  const t = useAccessTexts().rule;
  return (
    <Stack gap="xs" component="section">
      <Title order={3}>{t.rows}</Title>
      <Text size="sm" c="dimmed">
        {t.rowsHint}
      </Text>
      <FilterEditor draft={filter} variables={variables} none={t.rowsAll} />
    </Stack>
  );
}

/** A role that may list records should usually be able to get them, and the other way round. */
function pickInitialActions({ kind }: Resource, action: string): readonly string[] {
  if (kind === 'word') return ['publish'];
  return action === 'list' || action === 'get' ? presets.read : [action];
}

interface ActionsProps {
  readonly actions: readonly string[];
  readonly change: (actions: readonly string[]) => void;
  readonly resource: Resource;
}

function Actions({ actions, change, resource }: ActionsProps): ReactNode {
  const { rule: t, actionNames } = useAccessTexts();
  const offered = resource.kind === 'word' ? ['publish'] : [...new Set([...recordActions, ...actions])];
  return (
    <Checkbox.Group
      label={t.actions}
      description={t.actionsHint}
      value={[...actions]}
      onChange={(next) => change(offered.filter((each) => next.includes(each)))}
    >
      <Group mt="xs" gap="md">
        {offered.map((each) => (
          <Checkbox key={each} value={each} label={actionNames[each] ?? each} />
        ))}
      </Group>
      {resource.kind !== 'word' && (
        <Group mt="xs" gap="xs">
          {Object.entries(presets).map(([name, preset]) => (
            <Button key={name} size="compact-xs" variant="default" onClick={() => change(preset)}>
              {t.presets[name as keyof typeof presets]}
            </Button>
          ))}
        </Group>
      )}
    </Checkbox.Group>
  );
}

interface FieldChoice {
  readonly mode: FieldMode;
  readonly names: readonly string[];
}

function toFieldChoice(rule: Permission | null): FieldChoice {
  if (rule?.fields) return { mode: 'only', names: rule.fields };
  if (rule?.exceptFields) return { mode: 'except', names: rule.exceptFields };
  return { mode: 'all', names: [] };
}

function toFieldLists({ mode, names }: FieldChoice): Pick<Permission, 'fields' | 'exceptFields'> {
  return { fields: mode === 'only' ? names : null, exceptFields: mode === 'except' ? names : null };
}

interface FieldsProps {
  readonly choice: FieldChoice;
  readonly change: (choice: FieldChoice) => void;
  readonly collection: Collection;
}

function Fields({ choice, change, collection }: FieldsProps): ReactNode {
  const t = useAccessTexts().rule;
  const offered = collection.fields.filter((field) => field.type !== 'password');
  return (
    <Stack gap="xs" component="section">
      <Title order={3}>{t.fields}</Title>
      <div>
        <SegmentedControl
          aria-label={t.fields}
          value={choice.mode}
          onChange={(mode) => change({ ...choice, mode: mode as FieldMode })}
          data={[
            { value: 'all', label: t.fieldsAll },
            { value: 'only', label: t.fieldsOnly },
            { value: 'except', label: t.fieldsExcept },
          ]}
        />
      </div>
      {choice.mode !== 'all' && (
        <MultiSelect
          label={t.fieldsPick}
          description={t.fieldsPickHint}
          data={offered.map((field) => ({ value: field.name, label: getTitle(field) }))}
          value={[...choice.names]}
          onChange={(names) => change({ ...choice, names })}
          searchable
          hidePickedOptions
        />
      )}
    </Stack>
  );
}

import { Button, Checkbox, Fieldset, Group, Radio, Stack, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { AccountRecord } from '../accounts/account-data.ts';
import { ActionFields } from './action-fields.tsx';
import { ConditionFields } from './condition-fields.tsx';
import { ruleKeys } from './rule-data.ts';
import { createAction, type MailRule, newCondition, type RuleDraft, toRuleValues } from './rule-types.ts';
import { TryRule } from './try-rule.tsx';

interface RuleFormProps {
  readonly account: AccountRecord;
  /** Null for a new one. */
  readonly rule: MailRule | null;
  readonly done: () => void;
}

const emptyDraft: RuleDraft = {
  name: '',
  matches: 'all',
  conditions: [newCondition],
  actions: [createAction('move')],
  stop: false,
};

/** The form of one rule: conditions, actions, and what it would do to existing messages. */
export function RuleForm({ account, rule, done }: RuleFormProps): ReactNode {
  const texts = useTexts().common;
  const t = useInboxTexts().rules;
  const [draft, setDraft] = useState<RuleDraft>(rule ?? emptyDraft);
  const change = (part: Partial<RuleDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const save = useApiMutation({
    write: (client) => {
      const rules = client.records('mailRules');
      const values = toRuleValues(draft);
      return rule ? rules.update(rule.id, values) : rules.create({ ...values, accountId: account.id });
    },
    changes: ruleKeys,
    done: () => {
      toast(rule ? t.saved : t.created);
      done();
    },
  });
  const problems = getErrorDetails(save.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput
          label={t.name}
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={problems['name']}
          maxLength={255}
          autoComplete="off"
          data-autofocus
          required
        />
        <Conditions draft={draft} change={change} problems={problems} />
        <Actions account={account} draft={draft} change={change} problems={problems} />
        <Checkbox
          label={t.stop}
          checked={draft.stop}
          onChange={(event) => change({ stop: event.currentTarget.checked })}
        />
        <TryRule account={account.id} draft={draft} />
        <FormProblem error={save.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            {texts.cancel}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {rule ? texts.save : texts.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface PartProps {
  readonly draft: RuleDraft;
  readonly change: (part: Partial<RuleDraft>) => void;
  readonly problems: Readonly<Record<string, string>>;
}

/** The list without the entry at an index; null where it is the only one. */
function removeAt<T>(list: readonly T[], index: number, set: (list: readonly T[]) => void): (() => void) | null {
  return list.length === 1 ? null : () => set(list.filter((_, each) => each !== index));
}

function Conditions({ draft: { matches, conditions }, change, problems }: PartProps): ReactNode {
  const t = useInboxTexts().rules;
  const set = (list: RuleDraft['conditions']): void => change({ conditions: list });
  return (
    <Fieldset legend={t.conditions}>
      <Stack gap="xs">
        <Radio.Group
          aria-label={t.matches}
          value={matches}
          onChange={(chosen) => change({ matches: chosen as RuleDraft['matches'] })}
        >
          <Group gap="md">
            <Radio value="all" label={t.all} />
            <Radio value="any" label={t.any} />
          </Group>
        </Radio.Group>
        {conditions.map((condition, index) => (
          <ConditionFields
            // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no other identity
            key={index}
            condition={condition}
            index={index}
            change={(changed) => set(conditions.map((each, at) => (at === index ? changed : each)))}
            remove={removeAt(conditions, index, set)}
            problems={problems}
          />
        ))}
        <AddButton label={t.addCondition} onClick={() => set([...conditions, newCondition])} />
      </Stack>
    </Fieldset>
  );
}

function Actions({ account, draft: { actions }, change, problems }: PartProps & { account: AccountRecord }): ReactNode {
  const t = useInboxTexts().rules;
  const set = (list: RuleDraft['actions']): void => change({ actions: list });
  return (
    <Fieldset legend={t.actionsTitle}>
      <Stack gap="xs">
        {actions.map((action, index) => (
          <ActionFields
            // biome-ignore lint/suspicious/noArrayIndexKey: an action has no other identity
            key={index}
            account={account}
            action={action}
            index={index}
            change={(changed) => set(actions.map((each, at) => (at === index ? changed : each)))}
            remove={removeAt(actions, index, set)}
            problems={problems}
          />
        ))}
        <AddButton label={t.addAction} onClick={() => set([...actions, createAction('star')])} />
      </Stack>
    </Fieldset>
  );
}

function AddButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }): ReactNode {
  return (
    <Group>
      <Button variant="subtle" size="compact-sm" leftSection={<Icon name="plus" />} onClick={onClick}>
        {label}
      </Button>
    </Group>
  );
}

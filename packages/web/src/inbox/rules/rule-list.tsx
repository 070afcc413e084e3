import { Group, Stack, Switch, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { toast } from '../../ui/toasts.tsx';
import { ruleKeys } from './rule-data.ts';
import type { MailRule } from './rule-types.ts';

/** What the role may do with rules. */
export interface RuleRights {
  readonly change: boolean;
  readonly destroy: boolean;
}

interface RuleListProps {
  readonly rules: readonly MailRule[];
  readonly rights: RuleRights;
  readonly edit: (rule: MailRule) => void;
}

/** The rules of an account in their order, with switches and buttons. */
export function RuleList({ rules, rights, edit }: RuleListProps): ReactNode {
  const t = useInboxTexts().rules;
  return (
    <ListTable<MailRule>
      label={t.title}
      rows={rules}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t.columns.enabled,
          width: 70,
          render: (rule) => <EnabledSwitch rule={rule} isReadOnly={!rights.change} />,
        },
        { title: t.columns.name, render: (rule) => <RuleSummary rule={rule} /> },
        {
          title: '',
          width: 150,
          render: (rule) => <RuleButtons rule={rule} rules={rules} rights={rights} edit={() => edit(rule)} />,
        },
      ]}
    />
  );
}

function EnabledSwitch({ rule, isReadOnly }: { readonly rule: MailRule; readonly isReadOnly: boolean }): ReactNode {
  const t = useInboxTexts().rules;
  const setEnabled = useActionMutation<unknown, boolean>({
    write: (client, enabled) => client.records('mailRules').update(rule.id, { enabled }),
    changes: ruleKeys,
  });
  return (
    <Switch
      aria-label={t.enabled(rule.name)}
      checked={rule.enabled}
      disabled={isReadOnly}
      onChange={(event) => void setEnabled(event.currentTarget.checked)}
    />
  );
}

/** The name of a rule, what it does, and why it could not be applied. */
function RuleSummary({ rule }: { readonly rule: MailRule }): ReactNode {
  const t = useInboxTexts().rules;
  const { name, matches, conditions, actions, stop, problem } = rule;
  const does = [...actions.map(({ type }) => t.actions[type]), ...(stop ? [t.stopShort] : [])];
  return (
    <Stack gap={0}>
      <Text fw={500}>{name}</Text>
      <Text size="sm" c="dimmed">
        {t.summary(
          conditions.map((each) => t.describeCondition(each)),
          matches,
          does,
        )}
      </Text>
      {problem && (
        <Text size="sm" c="red.9">
          {t.problem(problem)}
        </Text>
      )}
    </Stack>
  );
}

interface RuleButtonsProps {
  readonly rule: MailRule;
  readonly rules: readonly MailRule[];
  readonly rights: RuleRights;
  readonly edit: () => void;
}

function RuleButtons({ rule, rules, rights, edit }: RuleButtonsProps): ReactNode {
  const texts = useTexts().common;
  const t = useInboxTexts().rules;
  const index = rules.findIndex(({ id }) => id === rule.id);
  const move = useActionMutation<unknown, MailRule>({
    write: (client, { id }) =>
      client.records('mailRules').move({ sourceId: rule.id, targetId: id, sortField: 'position' }),
    changes: ruleKeys,
  });
  const destroy = useActionMutation({
    write: (client) => client.records('mailRules').destroy(rule.id),
    changes: ruleKeys,
    done: () => toast(t.destroyed),
  });
  const confirmDestroy = async (): Promise<void> => {
    const question = {
      title: t.destroyTitle,
      text: t.destroyText(rule.name),
      confirmLabel: texts.destroy,
      danger: true,
    };
    if (await confirm(question)) await destroy();
  };
  const [above, below] = [rules[index - 1], rules[index + 1]];
  return (
    <Group gap={2} wrap="nowrap" justify="flex-end">
      {rights.change && (
        <>
          <IconButton
            icon="arrowUp"
            size="md"
            label={t.moveUp(rule.name)}
            disabled={!above}
            onClick={() => above && void move(above)}
          />
          <IconButton
            icon="arrowDown"
            size="md"
            label={t.moveDown(rule.name)}
            disabled={!below}
            onClick={() => below && void move(below)}
          />
          <IconButton icon="edit" size="md" label={t.edit(rule.name)} onClick={edit} />
        </>
      )}
      {rights.destroy && (
        <IconButton icon="trash" size="md" label={t.destroy(rule.name)} onClick={() => void confirmDestroy()} />
      )}
    </Group>
  );
}

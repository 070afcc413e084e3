/** One group of conditions, with the groups inside it. */
import { Button, Group, Menu, Select, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { titleOf } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ConditionRow } from './condition-row.tsx';
import type { FilterFields } from './filter-fields.ts';
import { depthOfGroup, type FilterGroup, type FilterNode, fieldsIn, newCondition, newGroup } from './filter-model.ts';
import classes from './group-editor.module.css';
import { operatorsFor } from './operators.ts';

interface GroupEditorProps {
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  /** Those of what stands around the group. */
  readonly fields: FilterFields;
  readonly variables: readonly string[];
  /** What is said of no conditions. */
  readonly none: string;
  /** How many levels may still follow. */
  readonly room: number;
  /** Absent for the outermost. */
  readonly remove?: () => void;
}

/** A group and one condition in it. */
const leastRoom = 2;

export function GroupEditor({ group, change, fields, variables, none, room, remove }: GroupEditorProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const own = fieldsIn(group, fields);
  const left = room - depthOfGroup(group);
  const set = (next: FilterNode): void =>
    change({ ...group, parts: group.parts.map((each) => (each.id === next.id ? next : each)) });
  const drop = (id: number): void => change({ ...group, parts: group.parts.filter((each) => each.id !== id) });
  const add = (node: FilterNode): void => change({ ...group, parts: [...group.parts, node] });
  const inner = remove !== undefined;
  return (
    <Stack gap="sm" {...(inner && { className: classes.inner, role: 'group', 'aria-label': group.under ?? t.group })}>
      {(inner || group.not || group.parts.length > 1) && (
        <GroupHead group={group} change={change} {...(remove && { remove })} />
      )}
      {group.parts.length === 0 && <Text c="dimmed">{inner ? t.emptyGroup : none}</Text>}
      {own &&
        group.parts.map((part) =>
          part.kind === 'group' ? (
            <GroupEditor
              key={part.id}
              group={part}
              change={set}
              fields={own}
              variables={variables}
              none={none}
              room={left}
              remove={() => drop(part.id)}
            />
          ) : (
            <ConditionRow
              key={part.id}
              condition={part}
              change={set}
              remove={() => drop(part.id)}
              fields={own}
              variables={variables}
            />
          ),
        )}
      {own && (
        <Group gap="xs">
          <Button variant="subtle" leftSection={<Icon name="plus" />} onClick={() => add(firstCondition(own))}>
            {t.add}
          </Button>
          {left >= leastRoom && <AddGroup fields={own} deeper={left > leastRoom} add={add} />}
        </Group>
      )}
    </Stack>
  );
}

function firstCondition({ offered }: FilterFields): FilterNode {
  const [path = '', field] = [...offered].find(([, each]) => !each.primaryKey) ?? [...offered][0] ?? [];
  return newCondition(path, (field && operatorsFor(field)[0]) ?? '$eq');
}

interface GroupHeadProps {
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  readonly remove?: () => void;
}

/** How the parts hold together, and the way out. */
function GroupHead({ group, change, remove }: GroupHeadProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const { under, match, not } = group;
  const plain = under === null;
  const choose = (value: string): void =>
    change({ ...group, match: value.endsWith('$or') ? '$or' : '$and', ...(plain && { not: value.startsWith('not') }) });
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <Group gap="xs">
        {!plain && (
          <>
            <Text size="sm" fw={500}>
              {t.linked(under)}
            </Text>
            <Choice
              label={t.presence}
              value={not ? 'none' : 'one'}
              choices={{ one: t.thereIs, none: t.thereIsNone }}
              choose={(value) => change({ ...group, not: value === 'none' })}
            />
          </>
        )}
        <Choice
          label={t.match}
          value={plain && not ? `not ${match}` : match}
          choices={{ $and: t.all, $or: t.any, ...(plain && { 'not $and': t.notAll, 'not $or': t.nothing }) }}
          choose={choose}
        />
      </Group>
      {remove && <IconButton icon="x" label={t.removeGroup} onClick={remove} />}
    </Group>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** Value to what it is called. */
  readonly choices: Readonly<Record<string, string>>;
  readonly choose: (value: string) => void;
}

function Choice({ label, value, choices, choose }: ChoiceProps): ReactNode {
  return (
    <Select
      aria-label={label}
      size="xs"
      w={150}
      data={Object.entries(choices).map(([each, name]) => ({ value: each, label: name }))}
      value={value}
      onChange={(next) => next && choose(next)}
      allowDeselect={false}
      comboboxProps={{ withinPortal: false }}
    />
  );
}

interface AddGroupProps {
  readonly fields: FilterFields;
  /** There is room for a group about a linked record too. */
  readonly deeper: boolean;
  readonly add: (group: FilterGroup) => void;
}

function AddGroup({ fields, deeper, add }: AddGroupProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const relations = deeper ? fields.relations : [];
  const plain = (): void => add(newGroup({ match: '$or', parts: [firstCondition(fields)] }));
  const about = (path: string): void => {
    const target = fields.under(path);
    add(newGroup({ under: path, parts: target ? [firstCondition(target)] : [] }));
  };
  const button = (run?: () => void): ReactNode => (
    <Button variant="subtle" leftSection={<Icon name="plus" />} {...(run && { onClick: run })}>
      {t.addGroup}
    </Button>
  );
  if (relations.length === 0) return button(plain);
  return (
    <Menu position="bottom-start" withinPortal={false}>
      <Menu.Target>{button()}</Menu.Target>
      <Menu.Dropdown mah={280} style={{ overflowY: 'auto' }}>
        <Menu.Item onClick={plain}>{t.plainGroup}</Menu.Item>
        <Menu.Label>{t.aboutLinked}</Menu.Label>
        {relations.map((field) => (
          <Menu.Item key={field.name} onClick={() => about(field.name)}>
            {titleOf(field)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

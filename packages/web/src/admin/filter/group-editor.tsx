/** One group of conditions with its nested groups. */
import { Button, Group, Menu, Select, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ConditionRow } from './condition-row.tsx';
import type { FilterFields } from './filter-fields.ts';
import {
  type FilterGroup,
  type FilterNode,
  measureGroupDepth,
  newCondition,
  newGroup,
  resolveGroupFields,
} from './filter-model.ts';
import classes from './group-editor.module.css';
import { listOperators } from './operators.ts';

interface GroupEditorProps {
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  /** The fields of the enclosing group. */
  readonly fields: FilterFields;
  readonly variables: readonly string[];
  /** The text shown while there are no conditions. */
  readonly none: string;
  /** The number of further levels that are allowed. */
  readonly remainingLevels: number;
  /** Absent for the outermost group. */
  readonly remove?: () => void;
}

/** A new group with one empty condition. */
const minLevels = 2;

export function GroupEditor({
  group,
  change,
  fields,
  variables,
  none,
  remainingLevels,
  remove,
}: GroupEditorProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const groupFields = resolveGroupFields(group, fields);
  const levelsLeft = remainingLevels - measureGroupDepth(group);
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
      {groupFields &&
        group.parts.map((part) =>
          part.kind === 'group' ? (
            <GroupEditor
              key={part.id}
              group={part}
              change={set}
              fields={groupFields}
              variables={variables}
              none={none}
              remainingLevels={levelsLeft}
              remove={() => drop(part.id)}
            />
          ) : (
            <ConditionRow
              key={part.id}
              condition={part}
              change={set}
              remove={() => drop(part.id)}
              fields={groupFields}
              variables={variables}
            />
          ),
        )}
      {groupFields && (
        <Group gap="xs">
          <Button
            variant="subtle"
            leftSection={<Icon name="plus" />}
            onClick={() => add(createFirstCondition(groupFields))}
          >
            {t.add}
          </Button>
          {levelsLeft >= minLevels && <AddGroup fields={groupFields} canNest={levelsLeft > minLevels} add={add} />}
        </Group>
      )}
    </Stack>
  );
}

function createFirstCondition({ offered }: FilterFields): FilterNode {
  const [path = '', field] = [...offered].find(([, each]) => !each.primaryKey) ?? [...offered][0] ?? [];
  return newCondition(path, (field && listOperators(field)[0]) ?? '$eq');
}

interface GroupHeadProps {
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  readonly remove?: () => void;
}

/** The header of a group: how its parts are combined, and the button that removes it. */
function GroupHead({ group, change, remove }: GroupHeadProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const { under, match, not } = group;
  const isPlain = under === null;
  const choose = (value: string): void =>
    change({
      ...group,
      match: value.endsWith('$or') ? '$or' : '$and',
      ...(isPlain && { not: value.startsWith('not') }),
    });
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <Group gap="xs">
        {!isPlain && (
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
          value={isPlain && not ? `not ${match}` : match}
          choices={{ $and: t.all, $or: t.any, ...(isPlain && { 'not $and': t.notAll, 'not $or': t.nothing }) }}
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
  /** Value to label. */
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
  /** A group about a linked record fits into the depth limit too. */
  readonly canNest: boolean;
  readonly add: (group: FilterGroup) => void;
}

function AddGroup({ fields, canNest, add }: AddGroupProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const relations = canNest ? fields.relations : [];
  const addPlainGroup = (): void => add(newGroup({ match: '$or', parts: [createFirstCondition(fields)] }));
  const addRelationGroup = (path: string): void => {
    const target = fields.under(path);
    add(newGroup({ under: path, parts: target ? [createFirstCondition(target)] : [] }));
  };
  const button = (run?: () => void): ReactNode => (
    <Button variant="subtle" leftSection={<Icon name="plus" />} {...(run && { onClick: run })}>
      {t.addGroup}
    </Button>
  );
  if (relations.length === 0) return button(addPlainGroup);
  return (
    <Menu position="bottom-start" withinPortal={false}>
      <Menu.Target>{button()}</Menu.Target>
      <Menu.Dropdown mah={280} style={{ overflowY: 'auto' }}>
        <Menu.Item onClick={addPlainGroup}>{t.plainGroup}</Menu.Item>
        <Menu.Label>{t.aboutLinked}</Menu.Label>
        {relations.map((field) => (
          <Menu.Item key={field.name} onClick={() => addRelationGroup(field.name)}>
            {getTitle(field)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

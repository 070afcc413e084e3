/** What a role may do, as a table of collections by actions. A cell opens the rule that decides. */
import { Anchor, Button, Group, Modal, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import { ReadOnlyBoundary } from '../../data/read-only-boundary.tsx';
import { type Schema, useMay, useSchema } from '../../data/schema.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import type { Permission, RoleWithPermissions } from '../access/dto.ts';
import { recordActions } from './actions.ts';
import { type Decision, type DecisionSource, findDecision, type Resource, type RoleRules } from './decision.ts';
import classes from './permission-matrix.module.css';
import type { RoleSearch } from './role-search.ts';
import { RuleForm } from './rule-form.tsx';

/** Collections shown at once; the others are found with the search field. */
const maxShownRows = 60;

interface Row extends Resource {
  readonly title: string;
}

interface PermissionMatrixProps {
  readonly role: RoleWithPermissions;
  /** The rules of the public role: what callers without a credential may do. */
  readonly publicRules: readonly Permission[];
}

export function PermissionMatrix({ role, publicRules }: PermissionMatrixProps): ReactNode {
  const schema = useSchema();
  return (
    <QueryBoundary query={schema} permission={{ resource: 'collections', action: 'list' }}>
      {(data) => <Matrix role={role} publicRules={publicRules} schema={data} />}
    </QueryBoundary>
  );
}

function Matrix({ role, publicRules, schema }: PermissionMatrixProps & { schema: Schema }): ReactNode {
  const t = useAccessTexts().matrix;
  const search = useSearch({ strict: false }) as RoleSearch;
  const navigate = useNavigate();
  const may = useMay();
  const [text, setText] = useState('');
  const [isSystemShown, setIsSystemShown] = useState(false);
  const roleRules: RoleRules = { role, ownRules: role.permissions, publicRules };
  const rows = buildRows(schema, role.permissions, t.everything);
  const groups = groupRows(rows, text, isSystemShown);
  const hiddenCount = groups.defined.length - maxShownRows;
  // The browser's back button closes an open rule.
  const openRule = (next: RoleSearch): void =>
    void navigate({ to: '.', search: next as never, replace: search.resource !== undefined });
  const chosen = search.resource === undefined ? null : findRow(rows, search.resource);
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <TextInput
          aria-label={t.find}
          placeholder={t.find}
          leftSection={<Icon name="search" />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          maw={320}
        />
        <Legend />
      </Group>
      <MatrixTable groups={groups} roleRules={roleRules} openRule={openRule} />
      {hiddenCount > 0 && (
        <Text size="sm" c="dimmed">
          {t.more(hiddenCount)}
        </Text>
      )}
      <Group>
        <Anchor component="button" type="button" size="sm" onClick={() => setIsSystemShown(!isSystemShown)}>
          {isSystemShown ? t.hideSystem : t.showSystem}
        </Anchor>
        {may('permissions', 'create') && (
          <OtherResource open={(resource) => openRule({ resource, action: 'publish' })} />
        )}
      </Group>
      <Modal
        opened={chosen !== null}
        onClose={() => openRule({})}
        size="xl"
        title={chosen && <RuleTitle role={role} row={chosen} />}
      >
        {chosen && (
          <ReadOnlyBoundary resource="permissions" action="update">
            <RuleForm
              key={`${chosen.name} ${search.action}`}
              roleRules={roleRules}
              role={role.name}
              resource={chosen}
              action={search.action ?? 'list'}
              collection={schema.definitions.get(chosen.name) ?? null}
              done={() => openRule({})}
            />
          </ReadOnlyBoundary>
        )}
      </Modal>
    </Stack>
  );
}

/** The rows that match a search text, by the sections of the table. */
interface RowGroups {
  /** All collections together: shown whatever the search text is. */
  readonly all: readonly Row[];
  readonly defined: readonly Row[];
  readonly system: readonly Row[];
  readonly other: readonly Row[];
}

/** System collections are found by a search even while they are hidden. */
function groupRows(rows: readonly Row[], text: string, isSystemShown: boolean): RowGroups {
  const lowerText = text.toLowerCase();
  const found = rows.filter((row) => `${row.name} ${row.title}`.toLowerCase().includes(lowerText));
  return {
    all: rows.filter((row) => row.kind === 'all'),
    defined: found.filter((row) => row.kind === 'defined'),
    system: found.filter((row) => row.kind === 'system' && (isSystemShown || text !== '')),
    other: found.filter((row) => row.kind === 'word'),
  };
}

interface MatrixTableProps {
  readonly groups: RowGroups;
  readonly roleRules: RoleRules;
  readonly openRule: (search: RoleSearch) => void;
}

function MatrixTable({ groups, roleRules, openRule }: MatrixTableProps): ReactNode {
  const t = useAccessTexts().matrix;
  const { all, defined, system, other } = groups;
  const renderRows = (rows: readonly Row[]): ReactNode =>
    rows.map((row) => <Line key={row.name} row={row} roleRules={roleRules} openRule={openRule} />);
  return (
    <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t.title }}>
      <table className={classes.table} aria-label={t.title}>
        <Head />
        <tbody>
          {renderRows(all)}
          {defined.length > 0 && <GroupLine title={t.own} />}
          {renderRows(defined.slice(0, maxShownRows))}
          {other.length > 0 && <GroupLine title={t.other} />}
          {renderRows(other)}
          {system.length > 0 && <GroupLine title={t.system} />}
          {renderRows(system)}
        </tbody>
      </table>
    </ScrollArea>
  );
}

function RuleTitle({ role, row }: { role: RoleWithPermissions; row: Row }): ReactNode {
  return useAccessTexts().rule.title(role.title || role.name, row.title);
}

/** The row of all collections, one for each collection, and one for each other name that the rules mention. */
function buildRows(schema: Schema, rules: readonly Permission[], everything: string): Row[] {
  const collections = schema.collections.map(
    (each): Row => ({ name: each.name, title: getTitle(each), kind: each.system ? 'system' : 'defined' }),
  );
  const known = new Set(['*', ...schema.byName.keys()]);
  const otherResources = [...new Set(rules.map((each) => each.resource))].filter((name) => !known.has(name));
  return [
    { name: '*', title: everything, kind: 'all' },
    ...collections,
    ...otherResources.map((name): Row => ({ name, title: name, kind: 'word' })),
  ];
}

function findRow(rows: readonly Row[], name: string): Row {
  return rows.find((row) => row.name === name) ?? { name, title: name, kind: 'word' };
}

function Head(): ReactNode {
  const { matrix: t, actionNames } = useAccessTexts();
  return (
    <thead>
      <tr>
        <th scope="col" className={classes.resource}>
          {t.resource}
        </th>
        {recordActions.map((action) => (
          <th key={action} scope="col">
            {actionNames[action]}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function GroupLine({ title }: { title: string }): ReactNode {
  return (
    <tr>
      <th scope="colgroup" colSpan={recordActions.length + 1} className={classes.group}>
        {title}
      </th>
    </tr>
  );
}

interface LineProps {
  readonly row: Row;
  readonly roleRules: RoleRules;
  readonly openRule: (search: RoleSearch) => void;
}

function Line({ row, roleRules, openRule }: LineProps): ReactNode {
  return (
    <tr>
      <th scope="row" className={classes.resource}>
        {row.title}
      </th>
      {recordActions.map((action) => (
        <td key={action}>
          <Cell
            row={row}
            action={action}
            decision={findDecision(roleRules, row, action)}
            open={() => openRule({ resource: row.name, action })}
          />
        </td>
      ))}
    </tr>
  );
}

const icons: Readonly<Record<DecisionSource, IconName>> = {
  own: 'check',
  all: 'check',
  public: 'users',
  configure: 'check',
  nothing: 'minus',
};

interface CellProps {
  readonly row: Row;
  readonly action: string;
  readonly decision: Decision;
  readonly open: () => void;
}

function Cell({ row, action, decision: { source, permission }, open }: CellProps): ReactNode {
  const { matrix: t, actionNames } = useAccessTexts();
  const rows = permission?.filter != null;
  const fields = permission?.fields != null || permission?.exceptFields != null;
  const stateText = [t.state[source], rows && t.narrowedRows, fields && t.narrowedFields].filter(Boolean).join(', ');
  const label = t.cell(actionNames[action] ?? action, row.title, stateText);
  return (
    <button type="button" className={classes.cell} data-by={source} aria-label={label} title={stateText} onClick={open}>
      <Icon name={icons[source]} size={15} />
      {rows && <Icon name="filter" size={13} />}
      {fields && <Icon name="columns" size={13} />}
    </button>
  );
}

function Legend(): ReactNode {
  const t = useAccessTexts().matrix;
  const entries: readonly (readonly [DecisionSource, IconName, string])[] = [
    ['own', 'check', t.state.own],
    ['all', 'check', t.state.all],
    ['public', 'users', t.state.public],
    ['nothing', 'filter', t.narrowedRows],
    ['nothing', 'columns', t.narrowedFields],
  ];
  return (
    <ul className={classes.legend} aria-label={t.legend}>
      {entries.map(([source, icon, text]) => (
        <li key={text}>
          <span className={classes.cell} data-by={source}>
            <Icon name={icon} size={13} />
          </span>
          {text}
        </li>
      ))}
    </ul>
  );
}

/** Opens the rule for custom events, which are granted by the first part of their name. */
function OtherResource({ open }: { open: (name: string) => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const [isOpened, setIsOpened] = useState(false);
  const [name, setName] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsOpened(false);
    open(name);
  };
  return (
    <>
      <Anchor component="button" type="button" size="sm" onClick={() => setIsOpened(true)}>
        {access.matrix.addOther}
      </Anchor>
      <Modal opened={isOpened} onClose={() => setIsOpened(false)} title={access.matrix.addOther}>
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              label={access.matrix.otherName}
              description={access.matrix.otherHint}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              pattern="[A-Za-z][A-Za-z0-9_]*"
              required
              data-autofocus
            />
            <Group justify="flex-end">
              <Button type="submit">{t.common.open}</Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}

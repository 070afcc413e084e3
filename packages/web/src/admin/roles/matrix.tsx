/** Collections by actions: who looks sees what a role may do, and a cell opens the rule that decides. */
import { Anchor, Button, Group, Modal, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Changeable } from '../../data/changeable.tsx';
import { Asked } from '../../data/problem.tsx';
import { type Schema, titleOf, useMay, useSchema } from '../../data/schema.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import type { Permission, RoleWithPermissions } from '../access/wire.ts';
import { recordActions } from './actions.ts';
import { type Decided, type DecidedBy, decidedFor, type Resource, type Ruled } from './decision.ts';
import classes from './matrix.module.css';
import type { RoleSearch } from './roles-search.ts';
import { RuleForm } from './rule-form.tsx';

/** Collections shown at once; the others are found by their name. */
const mostShown = 60;

interface Row extends Resource {
  readonly title: string;
}

interface MatrixProps {
  readonly role: RoleWithPermissions;
  /** What anyone may do. */
  readonly open: readonly Permission[];
}

export function Matrix({ role, open }: MatrixProps): ReactNode {
  const schema = useSchema();
  return (
    <Asked query={schema} asked={{ resource: 'collections', action: 'list' }}>
      {(data) => <Rows role={role} open={open} schema={data} />}
    </Asked>
  );
}

function Rows({ role, open, schema }: MatrixProps & { schema: Schema }): ReactNode {
  const t = useAccessTexts().matrix;
  const search = useSearch({ strict: false }) as RoleSearch;
  const navigate = useNavigate();
  const may = useMay();
  const [text, setText] = useState('');
  const [systemShown, setSystemShown] = useState(false);
  const ruled: Ruled = { role, own: role.permissions, open };
  const rows = rowsOf(schema, role.permissions, t.everything);
  const found = rows.filter((row) => `${row.name} ${row.title}`.toLowerCase().includes(text.toLowerCase()));
  const defined = found.filter((row) => row.kind === 'defined');
  const system = found.filter((row) => row.kind === 'system' && (systemShown || text !== ''));
  const words = found.filter((row) => row.kind === 'word');
  // Back closes the rule that was opened.
  const show = (next: RoleSearch): void =>
    void navigate({ to: '.', search: next as never, replace: search.resource !== undefined });
  const chosen = search.resource === undefined ? null : rowNamed(rows, search.resource);
  const table = { ruled, show };
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
      <ScrollArea
        type="auto"
        offsetScrollbars="x"
        viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': t.title }}
      >
        <table className={classes.table} aria-label={t.title}>
          <Head />
          <tbody>
            <Line row={rows[0]!} {...table} />
            {defined.length > 0 && <GroupLine title={t.own} />}
            {defined.slice(0, mostShown).map((row) => (
              <Line key={row.name} row={row} {...table} />
            ))}
            {words.length > 0 && <GroupLine title={t.other} />}
            {words.map((row) => (
              <Line key={row.name} row={row} {...table} />
            ))}
            {system.length > 0 && <GroupLine title={t.system} />}
            {system.map((row) => (
              <Line key={row.name} row={row} {...table} />
            ))}
          </tbody>
        </table>
      </ScrollArea>
      {defined.length > mostShown && (
        <Text size="sm" c="dimmed">
          {t.more(defined.length - mostShown)}
        </Text>
      )}
      <Group>
        <Anchor component="button" type="button" size="sm" onClick={() => setSystemShown(!systemShown)}>
          {systemShown ? t.hideSystem : t.showSystem}
        </Anchor>
        {may('permissions', 'create') && <OtherName open={(resource) => show({ resource, action: 'publish' })} />}
      </Group>
      <Modal
        opened={chosen !== null}
        onClose={() => show({})}
        size="xl"
        title={chosen && <RuleTitle role={role} row={chosen} />}
      >
        {chosen && (
          <Changeable resource="permissions" action="update">
            <RuleForm
              key={`${chosen.name} ${search.action}`}
              ruled={ruled}
              role={role.name}
              resource={chosen}
              action={search.action ?? 'list'}
              collection={schema.definitions.get(chosen.name) ?? null}
              done={() => show({})}
            />
          </Changeable>
        )}
      </Modal>
    </Stack>
  );
}

function RuleTitle({ role, row }: { role: RoleWithPermissions; row: Row }): ReactNode {
  return useAccessTexts().rule.title(role.title || role.name, row.title);
}

/** All collections first, then each, then the words that rules name beside them. */
function rowsOf(schema: Schema, rules: readonly Permission[], everything: string): Row[] {
  const collections = schema.collections.map(
    (each): Row => ({ name: each.name, title: titleOf(each), kind: each.system ? 'system' : 'defined' }),
  );
  const known = new Set(['*', ...schema.byName.keys()]);
  const words = [...new Set(rules.map((each) => each.resource))].filter((name) => !known.has(name));
  return [
    { name: '*', title: everything, kind: 'all' },
    ...collections,
    ...words.map((name): Row => ({ name, title: name, kind: 'word' })),
  ];
}

function rowNamed(rows: readonly Row[], name: string): Row {
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
  readonly ruled: Ruled;
  readonly show: (search: RoleSearch) => void;
}

function Line({ row, ruled, show }: LineProps): ReactNode {
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
            decided={decidedFor(ruled, row, action)}
            open={() => show({ resource: row.name, action })}
          />
        </td>
      ))}
    </tr>
  );
}

const icons: Readonly<Record<DecidedBy, IconName>> = {
  own: 'check',
  all: 'check',
  public: 'users',
  configure: 'check',
  nothing: 'minus',
};

interface CellProps {
  readonly row: Row;
  readonly action: string;
  readonly decided: Decided;
  readonly open: () => void;
}

function Cell({ row, action, decided: { by, permission }, open }: CellProps): ReactNode {
  const { matrix: t, actionNames } = useAccessTexts();
  const rows = permission?.filter != null;
  const fields = permission?.fields != null || permission?.exceptFields != null;
  const words = [t.state[by], rows && t.narrowedRows, fields && t.narrowedFields].filter(Boolean).join(', ');
  const label = t.cell(actionNames[action] ?? action, row.title, words);
  return (
    <button type="button" className={classes.cell} data-by={by} aria-label={label} title={words} onClick={open}>
      <Icon name={icons[by]} size={15} />
      {rows && <Icon name="filter" size={13} />}
      {fields && <Icon name="columns" size={13} />}
    </button>
  );
}

function Legend(): ReactNode {
  const t = useAccessTexts().matrix;
  const shown: readonly (readonly [DecidedBy, IconName, string])[] = [
    ['own', 'check', t.state.own],
    ['all', 'check', t.state.all],
    ['public', 'users', t.state.public],
    ['nothing', 'filter', t.narrowedRows],
    ['nothing', 'columns', t.narrowedFields],
  ];
  return (
    <ul className={classes.legend} aria-label={t.legend}>
      {shown.map(([by, icon, words]) => (
        <li key={words}>
          <span className={classes.cell} data-by={by}>
            <Icon name={icon} size={13} />
          </span>
          {words}
        </li>
      ))}
    </ul>
  );
}

/** Events of an application's own are granted by their first word. */
function OtherName({ open }: { open: (name: string) => void }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const [asking, setAsking] = useState(false);
  const [name, setName] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setAsking(false);
    open(name);
  };
  return (
    <>
      <Anchor component="button" type="button" size="sm" onClick={() => setAsking(true)}>
        {access.matrix.addOther}
      </Anchor>
      <Modal opened={asking} onClose={() => setAsking(false)} title={access.matrix.addOther}>
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

/**
 * Two applications (sides) with the same definitions and permissions, whose data only differs where a role cannot see
 * it. To each
 * request of such a role, both must answer with the same bytes.
 */
import type { Engine } from '../engines.ts';
import { TestServer } from '../scenario.ts';

/** The difference between the two sides: whole rows, or fields of visible rows. */
export type HiddenPart = 'rows' | 'fields';

export interface TwinApplication {
  /** The name of the application and of the token of its administrator, and the prefix of the tokens of its roles. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The fixed time of all records: real times of writing would differ between the sides. */
const now = Date.UTC(2026, 10, 21);
const sideNames: Readonly<Record<HiddenPart, readonly [string, string]>> = {
  rows: ['rowsLeft', 'rowsRight'],
  fields: ['fieldsLeft', 'fieldsRight'],
};

export const twinCollections = ['owners', 'tags', 'cards', 'items', 'itemsTags'] as const;

/** Fields that the role `fields` may not read, by collection. For a relation, its foreign key is listed too. */
export const deniedFields: Readonly<Record<string, readonly string[]>> = {
  items: ['secret', 'keeper', 'keeperId'],
  owners: ['pin'],
};

const definitions = [
  {
    name: 'owners',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'open', type: 'boolean' },
      { name: 'pin', type: 'string' },
      { name: 'items', type: 'hasMany', target: 'items', foreignKey: 'ownerId' },
      { name: 'card', type: 'hasOne', target: 'cards', foreignKey: 'ownerId' },
    ],
  },
  {
    name: 'tags',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'open', type: 'boolean' },
    ],
  },
  {
    name: 'cards',
    fields: [
      { name: 'text', type: 'string' },
      { name: 'open', type: 'boolean' },
    ],
  },
  {
    name: 'items',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'open', type: 'boolean' },
      { name: 'secret', type: 'string' },
      { name: 'amount', type: 'integer' },
      { name: 'stage', type: 'string' },
      { name: 'sort', type: 'sort', scopeKey: 'stage' },
      { name: 'owner', type: 'belongsTo', target: 'owners' },
      { name: 'keeper', type: 'belongsTo', target: 'owners' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
    options: { paranoid: true, logging: true },
  },
];

/** Keys of records that are visible, invisible, visible but destroyed, only on one side, and missing. */
export const twinKeys = {
  seen: 1,
  hidden: 2,
  trashed: 4,
  hiddenTrash: 5,
  leftOnly: 90,
  rightOnly: 91,
  missing: 77,
} as const;

/** @param left true: the values of the left side. */
function records(hidden: HiddenPart, left: boolean): Readonly<Record<string, readonly object[]>> {
  const row = <T>(one: T, other: T): T => (left || hidden === 'fields' ? one : other);
  const field = <T>(one: T, other: T): T => (left || hidden === 'rows' ? one : other);
  return {
    owners: [
      { name: 'Ann', open: true, pin: field('1111', '2222') },
      { name: row('Bob', 'Zoe'), open: false, pin: row('3333', '4444') },
      { name: 'Cid', open: true, pin: field('5555', '6666') },
    ],
    tags: [
      { name: 'red', open: true },
      { name: row('amber', 'violet'), open: false },
      { name: 'green', open: true },
    ],
    cards: [
      { text: 'of Ann', open: true, ownerId: 1 },
      { text: row('of Bob', 'of Zoe'), open: false, ownerId: row(2, 3) },
    ],
    items: [
      item('One', true, { secret: field('alpha', 'omega'), keeperId: field(2, 3), ownerId: 1, amount: 1, stage: 'a' }),
      item(row('Two', 'Deux'), false, { secret: 's', ownerId: row(1, 2), amount: row(5, 900), stage: 'b' }),
      item('Three', true, { secret: field('beta', 'psi'), keeperId: field(3, 1), ownerId: 3, amount: 3, stage: 'a' }),
      item('Four', true, { secret: 's', amount: 4, stage: 'b', ownerId: 1 }),
      item(row('Five', 'Cinq'), false, { secret: 's', amount: row(7, 70), stage: 'b', ownerId: row(3, 2) }),
    ],
    itemsTags: [
      { itemsId: 1, tagsId: 1 },
      { itemsId: 1, tagsId: 2 },
      { itemsId: 2, tagsId: row(1, 3) },
    ],
  };
}

function item(title: string, open: boolean, rest: object): object {
  return { title, open, ...rest };
}

const everything = ['list', 'get', 'create', 'update', 'destroy'];
const open = { open: true };

/** Roles of the test, and the kind of difference between the two sides for each. */
export const twinRoles: Readonly<
  Record<string, { readonly hidden: HiddenPart; readonly permissions: readonly object[] }>
> = {
  none: { hidden: 'rows', permissions: [] },
  rows: {
    hidden: 'rows',
    permissions: ['owners', 'tags', 'cards', 'items'].map((resource) => ({
      resource,
      actions: everything,
      filter: open,
    })),
  },
  parentOnly: { hidden: 'rows', permissions: [{ resource: 'owners', actions: everything, filter: open }] },
  targetOnly: { hidden: 'rows', permissions: [{ resource: 'items', actions: everything, filter: open }] },
  fields: {
    hidden: 'fields',
    permissions: [
      { resource: 'owners', actions: everything, exceptFields: ['pin'] },
      { resource: 'items', actions: everything, exceptFields: ['secret', 'keeper'] },
      { resource: 'tags', actions: everything },
      { resource: 'cards', actions: everything },
    ],
  },
  blindWriter: {
    hidden: 'fields',
    permissions: [
      { resource: 'owners', actions: ['list', 'get'], exceptFields: ['pin'] },
      { resource: 'owners', actions: ['create', 'update', 'destroy'] },
      { resource: 'items', actions: ['list', 'get'], exceptFields: ['secret', 'keeper', 'stage'] },
      { resource: 'items', actions: ['create', 'update', 'destroy'] },
      { resource: 'tags', actions: ['list', 'get'] },
    ],
  },
};

export async function startTwinApplications(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine, { clock: { now: () => now } });
  for (const hidden of ['rows', 'fields'] as const)
    for (const [index, name] of sideNames[hidden].entries()) await install(server, name, hidden, index === 0);
  return server;
}

async function install(server: TestServer, name: string, hidden: HiddenPart, left: boolean): Promise<void> {
  await server.data('POST /api/applications:create', { body: { name, displayName: name } });
  const { token } = await server.data(`POST /api/applications:enter?filterByTk=${name}`);
  server.tokens.set(name, token);
  server.snapshotTokens.set(name, name);
  const post = (path: string, body?: unknown) =>
    server.data(`POST /api/${path}`, { as: name, headers: { 'x-app': name }, body });
  await post('collections:apply', definitions);
  for (const [collection, rows] of Object.entries(records(hidden, left))) await post(`${collection}:create`, rows);
  await post('items:destroy?filterByTk=[4,5]');
  if (hidden === 'rows') {
    await post('items:create', [
      { id: twinKeys.leftOnly, title: 'L', open: false, stage: 'z' },
      { id: twinKeys.rightOnly, title: 'R', open: false, stage: 'z' },
    ]);
    await post(`items:destroy?force=true&filterByTk=${left ? twinKeys.rightOnly : twinKeys.leftOnly}`);
  }
  for (const [role, { hidden: where, permissions }] of Object.entries(twinRoles)) {
    if (where !== hidden) continue;
    await post('roles:create', { name: role });
    if (permissions.length > 0)
      await post(
        'permissions:create',
        permissions.map((each) => ({ role, ...each })),
      );
    server.tokens.set(`${name} ${role}`, (await post('apiKeys:create', { role: { name: role } })).token);
  }
}

/** The two sides for a role. */
export function getTwinApplications(role: string): readonly [TwinApplication, TwinApplication] {
  const [left, right] = sideNames[twinRoles[role]?.hidden ?? 'rows'].map((name) => ({
    name,
    headers: { 'x-app': name },
  }));
  return [left!, right!];
}

/**
 * The first request that a server gets after another server has changed definitions or permissions. After every kind of
 * change,
 * every record action must have the same effect as on the server that made the change, and a revoked permission must be
 * refused. Requests are sent without the checks of {@link TestServer.call}, because these would update the server
 * first.
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import { sendRequest } from '../support/http-client.ts';
import type { Json } from '../support/json.ts';
import { type Action, actions, collections, type Given } from '../support/record-actions.ts';
import { TestServer } from '../support/scenario.ts';

interface Reply {
  readonly status: number;
  readonly body: Json;
}

/** The reply to an action, and the records after it. */
interface Outcome {
  readonly status: number;
  readonly body: unknown;
  readonly effect: unknown;
}

/**
 * The changes that the other server makes one after the other in each round. The names of the fields that it adds begin
 * with `extra`.
 */
const changes: readonly (readonly [string, (round: number, permission: number) => readonly [string, unknown?]])[] = [
  [
    'a field was created',
    () => ['POST /api/fields:create', { collectionName: 'items', name: 'extra', type: 'string', title: 'Extra' }],
  ],
  [
    'a field was changed',
    () => ['POST /api/fields:update', { collectionName: 'items', name: 'extra', type: 'text', title: 'More' }],
  ],
  [
    'a field was renamed',
    () => ['POST /api/fields:update', { collectionName: 'items', name: 'extra', newName: 'extra2' }],
  ],
  ['a field was destroyed', () => ['POST /api/collections/items/fields:destroy?filterByTk=extra2']],
  [
    'a field of another collection was created',
    (round) => ['POST /api/fields:create', { collectionName: 'others', name: `more${round}`, type: 'string' }],
  ],
  [
    'a field of another collection was destroyed',
    (round) => [`POST /api/collections/others/fields:destroy?filterByTk=more${round}`],
  ],
  ['a title', (round) => ['POST /api/collections:update?filterByTk=papers', { title: `Papers ${round}` }]],
  [
    'options',
    (round) => [
      'POST /api/collections:update?filterByTk=items',
      { options: { indexes: round % 2 === 0 ? [{ fields: ['n'] }] : [] } },
    ],
  ],
  [
    'a collection was created',
    (round) => ['POST /api/collections:create', { name: `extras${round}`, fields: [{ name: 'n', type: 'integer' }] }],
  ],
  ['a role was created', (round) => ['POST /api/roles:create', { name: `extra${round}` }]],
  [
    'a permission was changed',
    (round, permission) => [
      `POST /api/permissions:update?filterByTk=${permission}`,
      { actions: round % 2 === 0 ? ['get'] : ['list'] },
    ],
  ],
  [
    'the roles of a user were changed',
    (round) => ['POST /api/users:update?filterByTk=2', { roles: round % 2 === 0 ? ['viewer', 'clerk'] : ['viewer'] }],
  ],
];

/** The number of actions in a group. After a change, each action of a group is the first request to its own server. */
const perGroup = 9;

const mayAll = (resource: string): object => ({
  role: 'scribe',
  resource,
  actions: ['list', 'get', 'create', 'update', 'destroy', 'history'],
});
/** How the other server revokes all permissions of the role `scribe`, and grants them again. */
const revocations: readonly (readonly [
  string,
  readonly (readonly [string, unknown?])[],
  readonly (readonly [string, unknown?])[],
])[] = [
  [
    'the permissions were destroyed',
    [['POST /api/permissions:destroy?filter={"role":"scribe"}']],
    collections.map(({ name }) => ['POST /api/permissions:create', mayAll(name)] as const),
  ],
  [
    'the role was removed from the user',
    [['POST /api/users:update?filterByTk=3', { roles: ['clerk'] }]],
    [['POST /api/users:update?filterByTk=3', { roles: ['scribe'] }]],
  ],
];

/** Members of replies whose values differ between records. */
const differing = /^(extra.*|id|.*Id|.*At|at|requestId|token|createdBy|updatedBy)$/;

describeEngines('first requests after a change made on another server', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let maker: TestServer;
  let stale: TestServer[];
  let permission: number;
  let scribe: string;
  let number = 0;

  beforeAll(async () => {
    store = await engine.store(true);
    const shared = shareStore(engine, store);
    const started = await Promise.all(Array.from({ length: perGroup + 1 }, () => TestServer.start(shared)));
    [maker, ...stale] = started as [TestServer, ...TestServer[]];
    await done('POST /api/collections:apply', collections);
    await done('POST /api/roles:create', { name: 'clerk' });
    const allowed = { role: 'clerk', resource: 'others', actions: ['get'] };
    permission = (await done('POST /api/permissions:create', allowed)).id;
    const ann = { email: 'ann@example.com', password: 'correct horse', roles: ['viewer'] };
    expect((await done('POST /api/users:create', ann)).id).toBe(2);
    await done('POST /api/roles:create', { name: 'scribe' });
    for (const { name } of collections) await done('POST /api/permissions:create', mayAll(name));
    const eva = { email: 'eva@example.com', password: 'correct horse', roles: ['scribe'] };
    expect((await done('POST /api/users:create', eva)).id).toBe(3);
    scribe = await maker.signIn(eva.email, eva.password);
  });
  afterAll(async () => {
    await Promise.all([maker, ...stale].map((node) => node.stop()));
    await store.remove();
  });

  async function ask(
    node: TestServer,
    request: string,
    body?: unknown,
    { as = maker.tokens.get('admin')!, headers = {} }: { as?: string; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const [method, path] = request.split(/ (.*)/) as [string, string];
    const sent = { authorization: `Bearer ${as}`, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const { status, text } = await sendRequest(node.running.url + encodeURI(path), {
      method,
      headers: { ...sent, ...headers },
      body: JSON.stringify(body),
    });
    return { status, body: JSON.parse(text) };
  }

  const done = async (request: string, body?: unknown): Promise<Json> => {
    const reply = await ask(maker, request, body);
    if (reply.status !== 200) throw new Error(`${request}: ${JSON.stringify(reply)}`);
    return reply.body.data;
  };

  /**
   * Creates records for one action. Users and permissions are only created if the action needs them, because that
   * changes the access version.
   */
  async function prepare({ name }: Action): Promise<Given> {
    number += 1;
    const tag = `t${number}`;
    const item = (n: number): object => ({ tag, n, parts: [{ tag }], ...(n === 1 && { labels: [{ tag }] }) });
    const operations = [
      { op: 'create', resource: 'shelves', values: { tag, items: [item(1), item(2)] } },
      ...[1, 2, 3].map((n) => ({ op: 'create', resource: 'papers', values: { tag, n } })),
      { op: 'destroy', resource: 'papers', filter: { tag, n: 3 } },
      { op: 'list', resource: 'items', filter: { tag } },
      { op: 'list', resource: 'labels', filter: { tag } },
    ];
    const results: Json[] = await done('POST /api/batch', { operations });
    const given = {
      tag,
      shelf: results[0].id,
      papers: results.slice(1, 4).map(({ id }) => id),
      items: results[5].map(({ id }: Json) => id),
      label: results[6][0].id,
    };
    if (name === 'revert') await done(`POST /api/papers:update?filterByTk=${given.papers[1]}`, { n: 4 });
    if (name.startsWith('users')) await done('POST /api/users:create', { email: `${tag}@example.com`, username: tag });
    if (name.startsWith('permissions')) {
      await done('POST /api/roles:create', { name: tag });
      await done('POST /api/permissions:create', { role: tag, resource: 'items', actions: ['get', 'list'] });
    }
    return given;
  }

  async function run(node: TestServer, action: Action, given: Given, as = maker.tokens.get('admin')!): Promise<Reply> {
    const entry = action.name === 'revert' ? await entryOf(given) : '';
    const request = action.request(given).replace('ENTRY', entry);
    return ask(node, request, action.body?.(given), { as, headers: action.headers?.(given) ?? {} });
  }

  async function entryOf({ papers }: Given): Promise<string> {
    const entries = await done(`GET /api/papers:history?filterByTk=${papers[1]}`);
    return String(entries[0].id);
  }

  /** The records with a tag, as the server that made the change returns them. */
  const effect = ({ tag }: Given): Promise<Json> =>
    done('POST /api/batch', {
      operations: [
        ...['shelves', 'items', 'parts', 'papers'].map((resource) => ({ op: 'list', resource, filter: { tag } })),
        { op: 'list', resource: 'users', filter: { username: tag } },
        { op: 'list', resource: 'permissions', filter: { role: tag } },
      ],
    });

  /** Removes the values that differ between records. */
  const alike = (value: unknown, { tag }: Given): unknown =>
    JSON.parse(
      JSON.stringify(value, (name, each) => (differing.test(name) ? undefined : each))
        .replaceAll(tag, 'T')
        .replaceAll(/"data":\[[0-9,]+\]/g, '"data":["keys"]')
        .replaceAll(/"field":"id","before":null,"after":\d+/g, '"field":"id"'),
    );

  const outcome = async (node: TestServer, action: Action, given: Given): Promise<Outcome> => {
    const { status, body } = await run(node, action, given);
    return { status, body: alike(body, given), effect: alike(await effect(given), given) };
  };

  const groups = Array.from({ length: Math.ceil(actions.length / perGroup) }, (_, at) =>
    actions.slice(at * perGroup, (at + 1) * perGroup),
  );

  test.each(groups.map((group, round) => [group.map(({ name }) => name).join(', '), group, round] as const))(
    '%s',
    async (_, group, round) => {
      const expected = await Promise.all(group.map(async (action) => outcome(maker, action, await prepare(action))));
      expect(expected.filter(({ status }) => status !== 200)).toEqual([]);
      const wrong: unknown[] = [];
      for (const [kind, change] of changes) {
        const given = await Promise.all(group.map(prepare));
        await done(...change(round, permission));
        const { version } = maker.running.applications.main;
        const found = await Promise.all(
          group.map((action, index) => {
            const node = stale[index]!;
            expect(node.running.applications.main.version).toBeLessThan(version);
            return outcome(node, action, given[index]!);
          }),
        );
        for (const [index, { name }] of group.entries())
          if (!isDeepStrictEqual(found[index], expected[index]))
            wrong.push({ kind, name, found: found[index], expected: expected[index] });
      }
      expect(wrong).toEqual([]);
    },
  );

  const byRecord = actions.filter(({ name }) => !/^(users|permissions)/.test(name));
  const lists = Array.from({ length: Math.ceil(byRecord.length / perGroup) }, (_, at) =>
    byRecord.slice(at * perGroup, (at + 1) * perGroup),
  );

  test.each(lists.map((group, round) => [revocations[round % revocations.length]![0], round, group] as const))(
    '%s on the other server, and every action is refused and changes nothing (%i)',
    async (_, round, group) => {
      const [, revoke, restore] = revocations[round % revocations.length]!;
      const given = await Promise.all(group.map(prepare));
      const before = await Promise.all(given.map(effect));
      for (const each of revoke) await done(...each);
      const statuses = await Promise.all(
        group.map(async (action, index) => [
          action.name,
          (await run(stale[index]!, action, given[index]!, scribe)).status,
        ]),
      );
      for (const each of restore) await done(...each);
      expect(statuses.filter(([, status]) => status !== 403)).toEqual([]);
      expect(await Promise.all(given.map(effect))).toEqual(before);
    },
  );
});

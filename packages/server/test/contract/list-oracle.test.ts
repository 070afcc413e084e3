import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { expectedList, type Filter, type Row, type Value } from '../support/oracle.ts';
import { TestServer } from '../support/scenario.ts';

type Kind = 'string' | 'text' | 'integer' | 'float' | 'boolean' | 'datetime';

const texts = [
  '',
  'a',
  'A',
  'ab',
  'a%b',
  'a_b',
  'É',
  'é',
  'straße',
  'STRASSE',
  'ΟΔΟΣ',
  'οδος',
  '\u{1F600}',
  '\uFFFD',
  'x\\y',
  'tab\t"q"',
  "it's",
  'K',
  '\u212A',
  'İ',
  'i',
];
const pools: Readonly<Record<Kind, readonly Value[]>> = {
  string: texts,
  text: texts,
  integer: [-2147483647, -1, 0, 1, 2, 10, 9, 2147483647],
  float: [-1.5, 0, 0.1, 0.2, 0.30000000000000004, 1e300, 10, 9],
  boolean: [true, false],
  datetime: [
    '0001-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59.999Z',
    '2024-02-29T12:00:00.001Z',
    '9999-12-31T23:59:59.999Z',
  ],
};
const kinds = Object.keys(pools) as Kind[];
const presentOf = (kind: Kind): fc.Arbitrary<Value> => fc.constantFrom(...pools[kind]);
const cellOf = (kind: Kind): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 4, arbitrary: presentOf(kind) }, { weight: 1, arbitrary: fc.constant(null) });

interface Schema {
  readonly child: readonly Kind[];
  readonly parent: readonly Kind[];
}

const fieldName = (index: number): string => `f${index}`;
const schemaOf: fc.Arbitrary<Schema> = fc.record({
  child: fc.array(fc.constantFrom(...kinds), { minLength: 2, maxLength: 6 }),
  parent: fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 3 }),
});

function rowOf(fields: readonly Kind[]): fc.Arbitrary<Record<string, Value>> {
  return fc
    .tuple(...fields.map(cellOf))
    .map((values) => Object.fromEntries(values.map((value, index) => [fieldName(index), value])));
}

function conditionOf(kind: Kind): fc.Arbitrary<unknown> {
  const value = presentOf(kind);
  const common = [
    value,
    fc.constant(null),
    ...['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'].map((operator) => value.map((each) => ({ [operator]: each }))),
    fc.array(value, { maxLength: 3 }).map((each) => ({ $in: each })),
    fc.array(value, { maxLength: 3 }).map((each) => ({ $notIn: each })),
    fc.boolean().map((each) => ({ $null: each })),
  ];
  if (kind !== 'string' && kind !== 'text') return fc.oneof(...common);
  const textual = ['$includes', '$startsWith', '$notEndsWith'].map((operator) =>
    value.map((each) => ({ [operator]: each })),
  );
  const patterns = fc.constantFrom('a%', '%b', '_', 'a\\%b', 'a_b', '%', 'É').map((each) => ({ $like: each }));
  return fc.oneof(...common, ...textual, patterns);
}

function leafOf(fields: readonly Kind[], prefix = ''): fc.Arbitrary<Filter> {
  return fc
    .integer({ min: 0, max: fields.length - 1 })
    .chain((index) => conditionOf(fields[index]!).map((condition) => ({ [prefix + fieldName(index)]: condition })));
}

/** @param parents null where relation paths are left out: in a role's filter on a role that cannot see them. */
function filterOf(schema: Schema): fc.Arbitrary<Filter> {
  const leaf = fc.oneof(
    { weight: 4, arbitrary: leafOf(schema.child) },
    { weight: 1, arbitrary: leafOf(schema.parent, 'parent.') },
    { weight: 1, arbitrary: leafOf(schema.parent).map((each): Filter => ({ parent: each })) },
  );
  return fc.letrec<{ node: Filter }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      { weight: 3, arbitrary: leaf },
      { weight: 1, arbitrary: fc.array(tie('node'), { maxLength: 3 }).map((each): Filter => ({ $and: each })) },
      { weight: 1, arbitrary: fc.array(tie('node'), { maxLength: 3 }).map((each): Filter => ({ $or: each })) },
      { weight: 1, arbitrary: tie('node').map((each): Filter => ({ $not: each })) },
    ),
  })).node;
}

const worldOf = schemaOf.chain((schema) =>
  fc.record({
    schema: fc.constant(schema),
    parents: fc.array(rowOf(schema.parent), { minLength: 1, maxLength: 4 }),
    children: fc.array(fc.tuple(rowOf(schema.child), fc.option(fc.nat(3))), { minLength: 1, maxLength: 25 }),
    roleFilter: fc.option(filterOf(schema), { nil: null }),
    roleFields: fc.option(
      fc.subarray(
        schema.child.map((_, index) => fieldName(index)),
        { minLength: 1 },
      ),
      { nil: null },
    ),
    queries: fc.array(
      fc.record({
        filter: fc.oneof(fc.constant({}), filterOf(schema)),
        sort: fc.array(fc.record({ field: fc.nat(schema.child.length - 1).map(fieldName), descending: fc.boolean() }), {
          maxLength: 2,
        }),
        page: fc.integer({ min: 1, max: 3 }),
        pageSize: fc.integer({ min: 1, max: 9 }),
        asRole: fc.boolean(),
      }),
      { minLength: 8, maxLength: 8 },
    ),
  }),
);

const runs = Number(process.env['PROPERTY_RUNS'] ?? 40);

describeEngines('list against an oracle', (engine) => {
  let server: TestServer;
  let world = 0;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { LIMIT_COLLECTIONS: '100000' } });
  });
  afterAll(() => server.stop());

  test('random schema, data, role, filter, sort and page', { timeout: 240_000 }, async () => {
    const property = fc.asyncProperty(
      worldOf,
      async ({ schema, parents, children, roleFilter, roleFields, queries }) => {
        world += 1;
        const [parentName, childName, role] = [`parents${world}`, `children${world}`, `role${world}`];
        const fields = (list: readonly Kind[]): object[] =>
          list.map((type, index) => ({ name: fieldName(index), type, index: index % 2 === 0 }));
        const post = (path: string, body: unknown): Promise<never> =>
          server.data(`POST /api/${path}`, { body }) as Promise<never>;
        const options = { timestamps: false };
        await post('collections:create', { name: parentName, fields: fields(schema.parent), options });
        const parentField = { name: 'parent', type: 'belongsTo', target: parentName };
        await post('collections:create', { name: childName, fields: [...fields(schema.child), parentField], options });
        const storedParents = (await post(`${parentName}:create`, parents)) as Row[];
        const linked = children.map(([row, parent]) => ({
          ...row,
          parentId: parent === null || parent >= parents.length ? null : parent + 1,
        }));
        const storedChildren = (await post(`${childName}:create`, linked)) as Row[];
        expect(storedChildren).toEqual(linked.map((row, index) => ({ id: index + 1, ...row })));
        await post('roles:create', { name: role });
        const granted = roleFields === null ? null : [...roleFields, 'parent'];
        await post('permissions:create', {
          role,
          resource: childName,
          actions: 'view',
          filter: roleFilter,
          fields: granted,
        });
        await post('permissions:create', { role, resource: parentName, actions: 'view' });
        await server.key(role);
        const tables = { children: storedChildren, parents: storedParents };
        for (const query of queries) {
          const seesAll = !query.asRole;
          const { filter, sort, page, pageSize } = query;
          const sortText = sort.map(({ field, descending }) => (descending ? `-${field}` : field));
          const reply = await server.call(`POST /api/${childName}:list`, {
            as: seesAll ? 'admin' : role,
            body: { filter, sort: sortText, page, pageSize },
          });
          const visible = granted === null ? null : [...granted, 'parentId'];
          if (!seesAll && visible && names(query).some((name) => !visible.includes(name))) {
            expect(reply.body).toMatchObject({ error: 'Forbidden', code: 'FIELD_DENIED' });
            continue;
          }
          const expected = expectedList(
            tables,
            query,
            seesAll ? { filter: null, fields: null } : { filter: roleFilter, fields: visible },
          );
          expect({ rows: reply.body.data, count: reply.body.meta?.count }).toEqual(expected);
        }
      },
    );
    await fc.assert(property, { numRuns: runs, seed: 20261121, endOnFailure: true });
  });
});

/** Child fields that a query names. */
function names({ filter, sort }: { filter: Filter; sort: readonly { field: string }[] }): string[] {
  const inFilter = (each: Filter): string[] =>
    Object.entries(each).flatMap(([key, value]) => {
      if (key === '$and' || key === '$or') return (value as Filter[]).flatMap(inFilter);
      if (key === '$not') return inFilter(value as Filter);
      return key.split('.')[0]!;
    });
  return [...inFilter(filter), ...sort.map(({ field }) => field)];
}

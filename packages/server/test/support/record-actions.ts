/** Requests for every action on records, and the collections they use. */
/** The collections that the actions use. */
export const collections = [
  {
    name: 'shelves',
    fields: [
      { name: 'tag', type: 'string' },
      { name: 'items', type: 'hasMany', target: 'items', foreignKey: 'shelfId' },
    ],
  },
  { name: 'labels', fields: [{ name: 'tag', type: 'string' }] },
  {
    name: 'items',
    fields: [
      { name: 'tag', type: 'string' },
      { name: 'n', type: 'integer' },
      { name: 'place', type: 'sort', scopeKey: 'tag' },
      { name: 'shelf', type: 'belongsTo', target: 'shelves' },
      { name: 'labels', type: 'belongsToMany', target: 'labels' },
      { name: 'parts', type: 'hasMany', target: 'parts', foreignKey: 'itemId' },
    ],
  },
  {
    name: 'parts',
    fields: [
      { name: 'tag', type: 'string' },
      { name: 'item', type: 'belongsTo', target: 'items', onDelete: 'cascade' },
    ],
  },
  {
    name: 'papers',
    fields: [
      { name: 'tag', type: 'string' },
      { name: 'n', type: 'integer' },
    ],
    options: { paranoid: true, logging: true },
  },
  { name: 'others', fields: [{ name: 'n', type: 'integer' }] },
];

/**
 * The keys of the records of one tag: a shelf with two items, a label, and three papers, the last of which is in the
 * trash.
 */
export interface Given {
  readonly tag: string;
  readonly shelf: number;
  readonly items: readonly number[];
  readonly label: number;
  readonly papers: readonly number[];
}

/** A request that is the first one to a server. */
export interface Action {
  readonly name: string;
  readonly request: (given: Given) => string;
  readonly body?: (given: Given) => unknown;
  readonly headers?: (given: Given) => Record<string, string>;
}

const filter = (tag: string, more: object = {}): string => JSON.stringify({ tag, ...more });
const row = (name: string, request: Action['request'], body?: Action['body'], headers?: Action['headers']): Action => ({
  name,
  request,
  ...(body && { body }),
  ...(headers && { headers }),
});
const once = ({ tag }: Given): Record<string, string> => ({ 'idempotency-key': tag });

/** Every action on records, and some on users and permissions. */
export const actions: readonly Action[] = [
  row('list', ({ tag }) => `GET /api/items:list?filter=${filter(tag)}&appends=labels`),
  row('list without pages', ({ tag }) => `GET /api/items:list?filter=${filter(tag)}&paginate=false`),
  row('get', ({ items }) => `GET /api/items:get?filterByTk=${items[0]}`),
  row('get by filter', ({ tag }) => `GET /api/items:get?filter=${filter(tag, { n: 2 })}`),
  row(
    'query',
    () => 'POST /api/items:query',
    ({ tag }) => ({ measures: [{ field: ['n'], aggregation: 'sum', alias: 'sum' }], filter: { tag } }),
  ),
  row('history', ({ papers }) => `GET /api/papers:history?filterByTk=${papers[0]}`),
  row('relation list', ({ shelf }) => `GET /api/shelves/${shelf}/items:list`),
  row(
    'create',
    () => 'POST /api/items:create',
    ({ tag }) => ({ tag, n: 5 }),
  ),
  row(
    'create of several',
    () => 'POST /api/papers:create',
    ({ tag }) => [
      { tag, n: 5 },
      { tag, n: 6 },
    ],
  ),
  row(
    'create with nested records',
    () => 'POST /api/shelves:create',
    ({ tag }) => ({ tag, items: [{ tag, n: 5 }] }),
  ),
  row(
    'update by key',
    ({ papers }) => `POST /api/papers:update?filterByTk=${papers[0]}`,
    () => ({ n: 7 }),
  ),
  row(
    'update by key and If-Match',
    ({ items }) => `POST /api/items:update?filterByTk=${items[0]}`,
    () => ({ n: 7 }),
    () => ({ 'if-match': '*' }),
  ),
  row(
    'update by keys',
    ({ items }) => `POST /api/items:update?filterByTk[]=${items[0]}&filterByTk[]=${items[1]}`,
    () => ({ n: 7 }),
  ),
  row(
    'update by filter',
    ({ tag }) => `POST /api/items:update?filter=${filter(tag)}`,
    () => ({ n: 7 }),
  ),
  row(
    'update by filter of logged records',
    ({ tag }) => `POST /api/papers:update?filter=${filter(tag)}`,
    () => ({ n: 7 }),
  ),
  row(
    'update by filter as a dry run',
    ({ tag }) => `POST /api/items:update?filter=${filter(tag)}&dryRun=true`,
    () => ({ n: 7 }),
  ),
  row(
    'update by filter under an Idempotency-Key',
    ({ tag }) => `POST /api/items:update?filter=${filter(tag)}`,
    () => ({ n: 7 }),
    once,
  ),
  row(
    'update with nested records',
    ({ shelf }) => `POST /api/shelves:update?filterByTk=${shelf}&updateAssociationValues=items`,
    ({ items }) => ({ items: [{ id: items[0], n: 9 }] }),
  ),
  row('destroy by key', ({ items }) => `POST /api/items:destroy?filterByTk=${items[0]}`),
  row('destroy by filter', ({ tag }) => `POST /api/items:destroy?filter=${filter(tag)}`),
  row('destroy of a shelf', ({ tag }) => `POST /api/shelves:destroy?filter=${filter(tag)}`),
  row('soft destroy by key', ({ papers }) => `POST /api/papers:destroy?filterByTk=${papers[0]}`),
  row('soft destroy by filter', ({ tag }) => `POST /api/papers:destroy?filter=${filter(tag)}`),
  row('destroy from the trash', ({ tag }) => `POST /api/papers:destroy?filter=${filter(tag)}&force=true`),
  row('destroy by filter, once', ({ tag }) => `POST /api/papers:destroy?filter=${filter(tag)}`, undefined, once),
  row('destroy by filter, dry', ({ tag }) => `POST /api/items:destroy?filter=${filter(tag)}&dryRun=true`),
  row('restore by key', ({ papers }) => `POST /api/papers:restore?filterByTk=${papers[2]}`),
  row('restore by filter', ({ tag }) => `POST /api/papers:restore?filter=${filter(tag)}`),
  row('revert', ({ papers }) => `POST /api/papers:revert?filterByTk=${papers[1]}&entry=ENTRY`),
  row('move', ({ items }) => `POST /api/items:move?sourceId=${items[1]}&targetId=${items[0]}&sortField=place`),
  row(
    'firstOrCreate of one that is there',
    () => 'POST /api/items:firstOrCreate?filterKeys[]=tag&filterKeys[]=n',
    ({ tag }) => ({ tag, n: 2 }),
  ),
  row(
    'firstOrCreate of another',
    () => 'POST /api/items:firstOrCreate?filterKeys[]=tag&filterKeys[]=n',
    ({ tag }) => ({ tag, n: 3 }),
  ),
  row(
    'updateOrCreate of one that is there',
    () => 'POST /api/papers:updateOrCreate?filterKeys[]=tag',
    ({ tag }) => ({ tag, n: 8 }),
  ),
  row(
    'relation create',
    ({ shelf }) => `POST /api/shelves/${shelf}/items:create`,
    ({ tag }) => ({ tag, n: 4 }),
  ),
  row(
    'relation update by filter',
    ({ shelf }) => `POST /api/shelves/${shelf}/items:update?filter={"n":{"$gt":0}}`,
    () => ({ n: 7 }),
  ),
  row('relation destroy by filter', ({ shelf }) => `POST /api/shelves/${shelf}/items:destroy?filter={"n":{"$gt":0}}`),
  row('relation remove', ({ shelf, items }) => `POST /api/shelves/${shelf}/items:remove?filterByTk=${items[0]}`),
  row('relation set', ({ shelf, items }) => `POST /api/shelves/${shelf}/items:set?filterByTk[]=${items[1]}`),
  row('relation add', ({ items, label }) => `POST /api/items/${items[1]}/labels:add?filterByTk=${label}`),
  row('relation toggle', ({ items, label }) => `POST /api/items/${items[0]}/labels:toggle?filterByTk=${label}`),
  row(
    'batch',
    () => 'POST /api/batch',
    ({ tag, papers }) => ({
      operations: [
        { op: 'update', resource: 'items', filter: { tag }, values: { n: 7 } },
        { op: 'destroy', resource: 'papers', filter: { tag } },
        { op: 'restore', resource: 'papers', filterByTk: papers[0] },
        { op: 'list', resource: 'papers', filter: { tag } },
      ],
    }),
  ),
  row(
    'users: update by filter',
    ({ tag }) => `POST /api/users:update?filter=${JSON.stringify({ username: tag })}`,
    () => ({ nickname: 'Changed' }),
  ),
  row('users: destroy by filter', ({ tag }) => `POST /api/users:destroy?filter=${JSON.stringify({ username: tag })}`),
  row(
    'permissions: destroy by filter',
    ({ tag }) => `POST /api/permissions:destroy?filter=${JSON.stringify({ role: tag })}`,
  ),
];

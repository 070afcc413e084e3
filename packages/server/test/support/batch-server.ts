import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

const collections = [
  { name: 'tags', fields: [{ name: 'label', type: 'string', unique: true }] },
  {
    name: 'orders',
    fields: [
      { name: 'no', type: 'integer', required: true, unique: true },
      { name: 'note', type: 'string' },
      { name: 'cost', type: 'integer' },
      { name: 'data', type: 'json' },
      { name: 'items', type: 'hasMany', target: 'items', foreignKey: 'orderId' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
  },
  {
    name: 'items',
    fields: [
      { name: 'name', type: 'string', required: true },
      { name: 'order', type: 'belongsTo', target: 'orders' },
    ],
  },
  { name: 'bins', fields: [{ name: 'name', type: 'string' }], options: { paranoid: true } },
  { name: 'secrets', fields: [{ name: 'text', type: 'string' }] },
  { name: 'vaults', fields: [{ name: 'code', type: 'password' }] },
];
const permissions = [
  { role: 'clerk', resource: 'orders', actions: ['create', 'list', 'get'], exceptFields: ['cost'] },
  { role: 'clerk', resource: 'orders', actions: ['update'], filter: { no: { $lt: 100 } }, exceptFields: ['cost'] },
  { role: 'clerk', resource: 'items', actions: ['create', 'list', 'get'] },
];

/** The request of a batch with these operations. */
export const batch = (...operations: readonly object[]): { request: string; body: object } => ({
  request: 'POST /api/batch',
  body: { operations },
});
/** Creates order 50 under the name `order`. */
export const order = { op: 'create', resource: 'orders', as: 'order', values: { no: 50 } };

/** A server with orders, items and tags, the orders 1 and 200, and a `clerk` who may read and write part of them. */
export async function startBatchServer(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine);
  await server.data('POST /api/collections:apply', { body: collections });
  await server.data('POST /api/roles:create', { body: { name: 'clerk', title: 'Clerk' } });
  for (const body of permissions) await server.data('POST /api/permissions:create', { body });
  await server.createKey('clerk');
  await server.data('POST /api/orders:create', { body: [{ no: 1, cost: 777 }, { no: 200 }] });
  return server;
}

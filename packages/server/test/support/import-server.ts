/** A server with collections to import into, and functions that send files. */
import type { Engine } from './engines.ts';
import { addUser } from './file-server.ts';
import type { Json } from './json.ts';
import { type Reply, TestServer } from './scenario.ts';

const definitions = [
  {
    name: 'customers',
    fields: [
      { name: 'email', type: 'email', unique: true },
      { name: 'name', type: 'string' },
    ],
    options: { timestamps: false },
  },
  {
    name: 'orders',
    fields: [
      { name: 'number', type: 'string', unique: true, title: 'Order number' },
      { name: 'price', type: 'decimal', precision: 10, scale: 2 },
      { name: 'amount', type: 'integer', min: 0 },
      { name: 'status', type: 'select', enum: ['open', 'paid'] },
      { name: 'note', type: 'text' },
      { name: 'region', type: 'string' },
      { name: 'customer', type: 'belongsTo', target: 'customers' },
      { name: 'parent', type: 'belongsTo', target: 'orders' },
    ],
    options: { logging: true },
  },
];

/** A server with `customers` and `orders`, and the editors ann and ben. */
export async function startImportServer(
  engine: Engine,
  options: Parameters<typeof TestServer.start>[1] = {},
): Promise<TestServer> {
  const server = await TestServer.start(engine, options);
  await defineOrders(server);
  for (const name of ['ann', 'ben']) await addUser(server, name, 'editor');
  return server;
}

export async function defineOrders(server: Pick<TestServer, 'data'>): Promise<void> {
  await server.data('POST /api/collections:apply', { body: definitions });
}

/** Sends a file as the body. */
export function importText(
  server: TestServer,
  query: string,
  body: string,
  { as = 'admin', type = 'text/csv', to = 'orders', action = 'import' } = {},
): Promise<Reply> {
  return server.call(`POST /api/${to}:${action}${query}`, { as, body, headers: { 'content-type': type } });
}

/** Waits until an import has ended. */
export async function waitForImport(server: TestServer, id: number, as = 'admin'): Promise<Json> {
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    const record = await server.data(`GET /api/imports:get?filterByTk=${id}`, { as });
    if (record.status !== 'pending' && record.status !== 'running') return record;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the import ${id} has not ended`);
}

/** Lines of a CSV file: `Order number,Price` and records with the numbers from `first`. */
export function makeOrders(first: number, count: number, priceOf = (index: number): string => `${index}.50`): string {
  const lines = Array.from({ length: count }, (_, index) => `A-${first + index},${priceOf(first + index)}`);
  return ['number,price', ...lines, ''].join('\r\n');
}

import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

export const shopHeaders = { 'x-app': 'shop' };

/** A server with the application `shop` and two orders in it. Its administrator is signed in as `shopAdmin`. */
export async function startShopServer(engine: Engine, env: Record<string, string> = {}): Promise<TestServer> {
  const server = await TestServer.start(engine, { env });
  await server.data('POST /api/applications:create', { body: { name: 'shop', displayName: 'The shop' } });
  await signInToShop(server);
  await server.data('POST /api/collections:create', {
    as: 'shopAdmin',
    headers: shopHeaders,
    body: { name: 'orders', fields: [{ name: 'no', type: 'integer' }] },
  });
  await server.data('POST /api/orders:create', { as: 'shopAdmin', headers: shopHeaders, body: [{ no: 1 }, { no: 2 }] });
  return server;
}

export async function signInToShop(server: TestServer): Promise<void> {
  const body = { email: 'root@example.com', password: 'correct horse battery' };
  const { token } = await server.data('POST /api/auth:signIn', { as: 'nobody', headers: shopHeaders, body });
  server.tokens.set('shopAdmin', token as string);
}

/** The list of the orders, as a certain caller. */
export const listOrders = (server: TestServer, as = 'shopAdmin'): ReturnType<TestServer['call']> =>
  server.call('GET /api/orders:list', { as, headers: shopHeaders });

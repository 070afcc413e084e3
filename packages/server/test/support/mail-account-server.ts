import type { ServerOptions } from '../../src/server.ts';
import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

/** A server with two editors, ann and bob, and a mail account of ann. */
export async function startMailAccountServer(
  engine: Engine,
  env: Record<string, string> = {},
  parts: Pick<ServerOptions, 'dns' | 'clock' | 'mailNetwork'> = {},
): Promise<TestServer> {
  const server = await TestServer.start(engine, { env, ...parts });
  for (const name of ['ann', 'bob']) {
    const body = { email: `${name}@example.com`, password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body });
    server.tokens.set(name, await server.signIn(body.email, body.password));
  }
  await server.data('POST /api/accounts:create', { as: 'ann', body: { name: 'Shop', address: 'shop@example.com' } });
  return server;
}

/** The result of an import. */
export interface ImportReport {
  readonly stored: number;
  readonly duplicates: number;
  readonly unparsable: number;
  readonly failed: number;
  readonly skipped: number;
  readonly ids: readonly number[];
  readonly problems: readonly unknown[];
}

/** Uploads bytes as they are. */
export async function upload(
  server: TestServer,
  as: string,
  account: number | string,
  body: string | AsyncIterable<Uint8Array>,
  type = 'message/rfc822',
  more = '',
): Promise<ImportReport> {
  const response = await fetch(`${server.running.url}/api/emails:import?account=${account}${more}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.tokens.get(as)}`, 'content-type': type },
    body,
    duplex: 'half',
  } as never);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return (JSON.parse(text) as { data: ImportReport }).data;
}

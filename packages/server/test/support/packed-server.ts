/** Checks that a server that was not started from the repository can load everything that it needs after its start. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { rootCredentials } from './cli-process.ts';
import type { Json } from './json.ts';
import { makeRawMail } from './raw-mail.ts';

const picture = fileURLToPath(new URL('../../../../docs/images/inbox.png', import.meta.url));
const json = { 'content-type': 'application/json' };

/**
 * Uses the threads for reads and mail, the process for thumbnails, the documentation and the web interface.
 *
 * @returns a token of the administrator.
 */
export async function usePackedServer(url: string): Promise<string> {
  let token: string | null = null;
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(url + path, {
      ...init,
      headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...init.headers },
    });
  const post = async (action: string, body: unknown): Promise<Json> => {
    const reply = await send(`/api/${action}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    expect(reply.status, `${action} ${await reply.clone().text()}`).toBe(200);
    return ((await reply.json()) as Json).data;
  };
  const signedIn: string = (await post('auth:signIn', rootCredentials)).token;
  token = signedIn;
  await post('collections:create', { name: 'things', fields: [{ name: 'n', type: 'integer' }] });
  await post('things:create', [{ n: 1 }, { n: 2 }]);
  expect((await send('/api/things:list')).status).toBe(200);
  await post('accounts:create', { name: 'Shop', address: 'shop@example.com' });
  const imported = await send('/api/emails:import?account=1', {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822' },
    body: makeRawMail({ subject: 'Packed', from: 'Cora <cora@example.net>', id: 'a1@example.net' }),
  });
  expect(imported.status).toBe(200);
  const form = new FormData();
  form.append('file', new Blob([readFileSync(picture)], { type: 'image/png' }), 'a.png');
  expect((await send('/api/files:upload', { method: 'POST', body: form })).status).toBe(200);
  const thumbnail = await send('/api/files/1?width=64');
  expect([thumbnail.status, thumbnail.headers.get('content-type')]).toEqual([200, 'image/webp']);
  expect((await send('/docs')).status).toBe(200);
  expect(await (await send('/')).text()).toContain('/assets/');
  return signedIn;
}

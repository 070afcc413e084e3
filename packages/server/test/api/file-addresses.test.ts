import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { addUser, fetchBytes, png, startFileServer, uploadFile } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('signed addresses of files', (engine) => {
  let server: TestServer;
  let offset = 0;
  beforeAll(async () => {
    server = await startFileServer(engine, { clock: { now: () => Date.now() + offset } });
  });
  afterAll(() => server.stop());

  const open = async (path: string): Promise<number> => {
    const response = await fetchBytes(server, path, { as: 'nobody' });
    await response.arrayBuffer();
    return response.status;
  };
  const sign = async (id: number, as = 'ann', more = ''): Promise<string> =>
    (await server.data(`POST /api/files:sign?filterByTk=${id}${more}`, { as })).url;
  const createPost = async (title = 'red'): Promise<{ post: number; file: number }> => {
    const photo = await uploadFile(server, { name: 'p.png', content: png });
    const { id } = await server.data('POST /api/posts:create', { as: 'ann', body: { title, photo: photo.id } });
    return { post: id, file: photo.id };
  };

  test('anyone who has the address can load the file, also in pages of other origins', async () => {
    const { file } = await createPost();
    const url = await sign(file);
    const response = await fetchBytes(server, url, { as: 'nobody' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(png);
    const range = await fetchBytes(server, url, { as: 'nobody', headers: { range: 'bytes=0-3' } });
    expect(range.status).toBe(206);
  });

  test('an address is bound to its file, and cannot be changed', async () => {
    const [one, other] = [await createPost(), await createPost()];
    const url = await sign(one.file);
    const signature = url.split('=')[1]!;
    expect(await open(`/api/files/${other.file}?signature=${signature}`)).toBe(401);
    const [text, mac] = signature.split('.') as [string, string];
    const parts = JSON.parse(Buffer.from(text, 'base64url').toString());
    for (const [index, value] of [
      [1, other.file],
      [3, 1],
      [4, 'admin'],
      [5, parts[5] + 1000],
    ] as const) {
      const forged = Buffer.from(JSON.stringify(parts.with(index, value))).toString('base64url');
      expect(await open(`/api/files/${parts[1]}?signature=${forged}.${mac}`), String(index)).toBe(401);
    }
    for (const bad of ['', '.', 'x', `${text}.`, `${text}.${mac}x`, 'W10.x'])
      expect(await open(`/api/files/${one.file}?signature=${bad}`), bad).toBe(401);
    expect(await open(`/api/posts/${one.post}/photo?signature=${signature}`)).toBe(401);
    expect(await open(url)).toBe(200);
  });

  test('an address ends after its time', async () => {
    const { file } = await createPost();
    const url = await sign(file, 'ann', '&expiresIn=60');
    expect(await open(url)).toBe(200);
    offset += 61_000;
    expect(await open(url)).toBe(401);
    offset -= 61_000;
  });

  test('an address has the permissions that its caller has when it is used', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'reds' } });
    const permission = { role: 'reds', resource: 'posts', actions: ['get'], filter: { title: 'red' } };
    await server.data('POST /api/permissions:create', { body: permission });
    await addUser(server, 'rita', 'reds');
    const { post, file } = await createPost('red');
    const url = await sign(file, 'rita');
    expect(await open(url)).toBe(200);
    await server.data(`POST /api/posts:update?filterByTk=${post}`, { body: { title: 'blue' } });
    expect(await open(url)).toBe(404);
    await server.data(`POST /api/posts:update?filterByTk=${post}`, { body: { title: 'red' } });
    expect(await open(url)).toBe(200);
    const [rita] = await server.data('GET /api/users:list?filter={"email":"rita@example.com"}');
    await server.data(`POST /api/users:update?filterByTk=${rita.id}`, { body: { status: 'suspended' } });
    expect(await open(url)).toBe(401);
  });

  test('an address ends with the session or the key that requested it', async () => {
    const { file } = await createPost();
    await server.createKey('viewer');
    const [byKey, bySession] = [await sign(file, 'viewer'), await sign(file, 'vic')];
    expect([await open(byKey), await open(bySession)]).toEqual([200, 200]);
    const [key] = await server.data('GET /api/apiKeys:list');
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
    await server.data('POST /api/auth:signOut', { as: 'vic' });
    expect([await open(byKey), await open(bySession)]).toEqual([401, 401]);
  });

  test('an address contains its application, so a request needs no X-App', async () => {
    const headers = { 'x-app': 'shop' };
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    server.tokens.set('shop', token);
    const form = new FormData();
    form.append('file', new Blob(['of the shop']), 'a.txt');
    const authorization = `Bearer ${token}`;
    const uploaded = await fetch(`${server.running.url}/api/files:upload`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body: form,
    });
    const { data }: Json = await uploaded.json();
    const { id } = data[0];
    const { url } = await server.data(`POST /api/files:sign?filterByTk=${id}`, { as: 'shop', headers });
    expect(await (await fetchBytes(server, url, { as: 'nobody' })).text()).toBe('of the shop');
  });

  test('only callers who may read a file get an address of it', async () => {
    const { id } = await uploadFile(server, { name: 'own.txt', content: 'own' }, 'ben');
    const request = `POST /api/files:sign?filterByTk=${id}`;
    await server.play({
      name: 'another user gets no address',
      request,
      as: 'ann',
      expect: { status: 404, code: 'RECORD_UNKNOWN' },
    });
    await server.play({
      name: 'nobody gets an address',
      request,
      as: 'nobody',
      expect: { status: 401, code: 'TOKEN_MISSING' },
    });
    const tooLong = { status: 400, code: 'PARAMETER_INVALID' } as const;
    await server.play({
      name: 'an address does not last longer than a day',
      request: `${request}&expiresIn=86401`,
      as: 'ben',
      expect: tooLong,
    });
    expect(await open(await sign(id, 'ben'))).toBe(200);
  });
});

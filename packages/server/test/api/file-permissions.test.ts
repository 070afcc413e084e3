import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { addUser, fetchBytes, png, sendFiles, startFileServer, uploadFile } from '../support/file-server.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('permissions of files', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startFileServer(engine);
    const role = async (name: string, permissions: readonly object[]): Promise<void> => {
      await server.data('POST /api/roles:create', { body: { name } });
      for (const each of permissions)
        await server.data('POST /api/permissions:create', { body: { role: name, ...each } });
      await addUser(server, name, name);
    };
    await role('red', [{ resource: 'posts', actions: ['get', 'list', 'update'], filter: { title: 'red' } }]);
    await role('titles', [{ resource: 'posts', actions: ['get', 'list'], fields: ['id', 'title'] }]);
    await role('writer', [{ resource: 'posts', actions: ['create'] }]);
  });
  afterAll(() => server.stop());

  const statusOf = async (path: string, as: string): Promise<number> => {
    const response = await fetchBytes(server, path, { as });
    await response.arrayBuffer();
    return response.status;
  };

  test('the row filter of get decides, and applies to the current record', async () => {
    const paper = await uploadFile(server, { name: 'a.txt', content: 'a' });
    const { id } = await server.data('POST /api/posts:create', {
      as: 'ann',
      body: { title: 'blue', papers: [paper.id] },
    });
    const paths = [paper.url, `/api/posts/${id}/papers/0`];
    for (const path of paths) expect(await statusOf(path, 'red'), path).not.toBe(200);
    await server.data(`POST /api/posts:update?filterByTk=${id}`, { body: { title: 'red' } });
    for (const path of paths) expect(await statusOf(path, 'red'), path).toBe(200);
    await server.data(`POST /api/posts:update?filterByTk=${id}`, { body: { title: 'blue' } });
    for (const path of paths) expect(await statusOf(path, 'red'), path).not.toBe(200);
  });

  test('the field list of get decides', async () => {
    const paper = await uploadFile(server, { name: 'b.txt', content: 'b' });
    const { id } = await server.data('POST /api/posts:create', {
      as: 'ann',
      body: { title: 'red', papers: [paper.id] },
    });
    expect(await statusOf(paper.url, 'titles')).toBe(404);
    expect(await statusOf(`/api/posts/${id}/papers/0`, 'titles')).toBe(403);
    expect(await statusOf(`/api/posts/${id}/papers/0`, 'nobody')).toBe(401);
    expect(await statusOf(paper.url, 'red')).toBe(200);
  });

  test('a file that many other records refer to stays readable', async () => {
    const paper = await uploadFile(server, { name: 'popular.txt', content: 'popular' });
    const papers = [paper.id];
    const create = (body: unknown): Promise<{ id: number }> =>
      server.data('POST /api/posts:create', { as: 'ann', body });
    const others = Array.from({ length: 520 }, () => ({ title: 'blue', papers }));
    const oldest = await create({ title: 'red', papers });
    await create(others);
    const middle = await create({ title: 'blue', papers });
    await create(others);
    expect(await statusOf(paper.url, 'red')).toBe(200);
    expect(await statusOf(`/api/posts/${oldest.id}/papers/0`, 'red')).toBe(200);
    await server.data(`POST /api/posts:update?filterByTk=${oldest.id}`, { as: 'red', body: { papers } });
    await server.data(`POST /api/posts:update?filterByTk=${oldest.id}`, { body: { title: 'blue' } });
    await server.data(`POST /api/posts:update?filterByTk=${middle.id}`, { body: { title: 'red' } });
    expect(await statusOf(`/api/posts/${middle.id}/papers/0`, 'red')).toBe(200);
    // It is neither among the oldest nor among the newest records with the file.
    expect(await statusOf(paper.url, 'red')).toBe(200);
    await server.data(`POST /api/posts:update?filterByTk=${middle.id}`, { body: { papers: [] } });
    expect(await statusOf(paper.url, 'red')).toBe(404);
    // A caller who may get none of the records still may not read the file.
    expect(await statusOf(paper.url, 'titles')).toBe(404);
  });

  test.each([
    ['integer', [7]],
    ['bigInt', ['9007199254740993']],
    ['string', ["it's", '007']],
    ['uid', ['0193588E-6f0f-7b57-9a43-6f0f4b579a43']],
  ])('a file of a record with a key of the type %s is readable by its id', async (type, keys) => {
    const name = `keyed_${type}`;
    const fields = [
      { name: 'key', type, primaryKey: true },
      { name: 'paper', type: 'file' },
    ];
    await server.data('POST /api/collections:create', { body: { name, fields } });
    const permission = {
      role: 'red',
      resource: name,
      actions: ['get', 'list'],
      filter: { 'key.$ne': keys[1] ?? null },
    };
    await server.data('POST /api/permissions:create', { body: permission });
    const papers = await Promise.all(keys.map((key) => uploadFile(server, { name: 'k.txt', content: String(key) })));
    for (const [index, key] of keys.entries())
      await server.data(`POST /api/${name}:create`, { as: 'ann', body: { key, paper: papers[index]?.id } });
    expect(await statusOf(papers[0]?.url, 'red')).toBe(200);
    if (papers[1]) expect(await statusOf(papers[1].url, 'red')).toBe(404);
  });

  test('a role without the permission to create files uploads none', async () => {
    for (const [as, status] of [
      ['vic', 403],
      ['writer', 403],
      ['nobody', 401],
    ] as const)
      expect((await sendFiles(server, '/api/files:upload', { as, files: [{ name: 'x', content: 'x' }] })).status).toBe(
        status,
      );
  });

  test('files are not created, changed or read in any other way', async () => {
    const own = await uploadFile(server, { name: 'own.txt', content: 'own' }, 'admin');
    for (const [request, body] of [
      ['POST /api/files:create', { name: 'x', sha256: 'y' }],
      [`POST /api/files:update?filterByTk=${own.id}`, { name: 'x' }],
      ['POST /api/files:firstOrCreate?filterKeys=name', { name: 'x' }],
    ] as const)
      await server.play({
        name: `${request} is refused`,
        request,
        body,
        expect: { status: 403, code: 'SYSTEM_PROTECTED' },
      });
  });

  const refused = { status: 422, code: 'VALUE_INVALID' } as const;

  test('a record only accepts files that its author may use, and a refusal changes nothing', async () => {
    const { id: foreign } = await uploadFile(server, { name: 'foreign.txt', content: 'foreign' }, 'ben');
    const { id: hidden } = await uploadFile(server, { name: 'hidden.txt', content: 'hidden' });
    await server.data('POST /api/posts:create', { as: 'ann', body: { title: 'blue', papers: [hidden] } });
    const { id: red } = await server.data('POST /api/posts:create', { body: { title: 'red' } });
    const attempts: readonly (readonly [name: string, as: string, papers: unknown])[] = [
      ['a file that another user has uploaded', 'ann', [foreign]],
      ['a file that another user has uploaded, for an administrator', 'admin', [foreign]],
      ['a file of a record that the role does not reach', 'red', [hidden]],
      ['a file that does not exist', 'ann', [1_000_000]],
      ['the same file twice', 'ann', [hidden, hidden]],
      ['one file where a list is needed', 'ann', hidden],
      ['text', 'ann', ['1']],
      ['an object without an id', 'ann', [{ url: `/api/files/${hidden}` }]],
      ['more files than the field takes', 'ann', [1, 2, 3, 4]],
    ];
    for (const [name, as, papers] of attempts)
      await server.play({
        name,
        request: `POST /api/posts:update?filterByTk=${red}`,
        as,
        body: { papers },
        expect: { ...refused, body: { details: { papers: expect.any(String) } } },
      });
    expect(await statusOf(`/api/files/${foreign}`, 'ben')).toBe(200);
  });

  test('a field only accepts files of its types and its size', async () => {
    const page = { name: 'page.png', type: 'image/png', content: '<html><script>alert(1)</script></html>' };
    const big = { name: 'big.png', type: 'image/png', content: Buffer.concat([png, Buffer.alloc(1000)]) };
    const text = { name: 'text.txt', type: 'text/plain', content: 'text' };
    for (const file of [page, big, text]) {
      const { id } = await uploadFile(server, file);
      await server.play({
        name: `${file.name} is not a small picture`,
        request: 'POST /api/posts:create',
        as: 'ann',
        body: { photo: id },
        expect: { ...refused, body: { details: { photo: expect.any(String) } } },
      });
    }
  });

  test('a value that another field had does not become a file', async () => {
    const { id } = await uploadFile(server, { name: 'secret.txt', content: 'secret' }, 'ben');
    await server.data('POST /api/collections:create', {
      body: { name: 'plain', fields: [{ name: 'value', type: 'json' }] },
    });
    await server.data('POST /api/plain:create', { as: 'ann', body: { value: { id } } });
    await server.play({
      name: 'the type of a field cannot become file',
      request: 'POST /api/collections/plain/fields:update?filterByTk=value',
      body: { type: 'file' },
      expect: { status: 422, code: 'DEFINITION_INVALID' },
    });
    await server.play({
      name: 'a file field cannot take several files later',
      request: 'POST /api/collections/posts/fields:update?filterByTk=photo',
      body: { multiple: true },
      expect: { status: 422, code: 'DEFINITION_INVALID' },
    });
    expect(await statusOf('/api/plain/1/value', 'ann')).toBe(404);
  });

  test.each([
    [{ unique: true }, 'unique'],
    [{ defaultValue: 1 }, 'defaultValue'],
    [{ accept: ['pictures'] }, 'accept'],
    [{ accept: [] }, 'accept'],
    [{ maxSize: 0 }, 'maxSize'],
    [{ maxCount: 2 }, 'maxCount'],
    [{ multiple: true, maxCount: 101 }, 'maxCount'],
    [{ pattern: 'x' }, 'pattern'],
  ])('a file field with %j is refused', async (options, property) => {
    await server.play({
      name: 'the definition is refused',
      request: 'POST /api/collections:create',
      body: { name: 'bad', fields: [{ name: 'file', type: 'file', ...options }] },
      expect: {
        status: 422,
        code: 'DEFINITION_INVALID',
        body: { details: { [`fields[0].${property}`]: expect.any(String) } },
      },
    });
  });
});

import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { fetchBytes, png, sendFiles, startFileServer, uploadFile } from '../support/file-server.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('files', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startFileServer(engine);
  });
  afterAll(() => server.stop());

  const textOf = async (path: string, as?: string): Promise<[number, string]> => {
    const response = await fetchBytes(server, path, { ...(as && { as }) });
    return [response.status, await response.text()];
  };

  test('several files are uploaded in one request, and described in its order', async () => {
    const { body } = await sendFiles(server, '/api/files:upload', {
      files: [
        { name: 'Füße.txt', type: 'text/plain', content: 'one' },
        { name: 'picture.png', type: 'image/png', content: png },
      ],
    });
    const [one, picture] = body.data;
    expect(one).toEqual({
      id: one.id,
      name: 'Füße.txt',
      contentType: 'text/plain',
      size: 3,
      width: null,
      height: null,
      url: `/api/files/${one.id}`,
    });
    expect(picture).toMatchObject({ contentType: 'image/png', size: png.length, width: 1, height: 1 });
    expect(await server.data(`GET /api/files:get?filterByTk=${picture.id}`, { as: 'ann' })).toMatchObject({
      name: 'picture.png',
      contentType: 'image/png',
      detectedType: 'image/png',
      sha256: hash('sha256', png),
    });
    expect(await textOf(one.url)).toEqual([200, 'one']);
  });

  test('only the uploader lists, reads and destroys a file to which no record refers', async () => {
    const { id, url } = await uploadFile(server, { name: 'own.txt', content: 'mine' }, 'ben');
    expect(await textOf(url, 'ben')).toEqual([200, 'mine']);
    for (const as of ['ann', 'vic', 'admin', 'nobody']) expect((await textOf(url, as))[0], as).toBe(404);
    const listed = async (as: string): Promise<number[]> =>
      (await server.data('GET /api/files:list', { as })).map((each: { id: number }) => each.id);
    expect(await listed('ben')).toContain(id);
    for (const as of ['ann', 'admin']) expect(await listed(as)).not.toContain(id);
    expect((await server.call(`POST /api/files:destroy?filterByTk=${id}`, { as: 'ann' })).status).not.toBe(200);
    expect(await textOf(url, 'ben')).toEqual([200, 'mine']);
    await server.data(`POST /api/files:destroy?filterByTk=${id}`, { as: 'ben' });
    expect((await textOf(url, 'ben'))[0]).toBe(404);
  });

  test('a record shows its files, and callers who may get the record may read them', async () => {
    const photo = await uploadFile(server, { name: 'p.png', content: png });
    const paper = await uploadFile(server, { name: 'paper.txt', content: 'words' });
    const created = await server.data('POST /api/posts:create', {
      as: 'ann',
      body: { title: 'One', photo: photo.id, papers: [{ id: paper.id }] },
    });
    expect(created.photo).toEqual(photo);
    expect(created.papers).toEqual([paper]);
    const [listed] = await server.data(`GET /api/posts:list?filter={"id":${created.id}}`, { as: 'vic' });
    expect(listed.papers).toEqual([paper]);
    for (const path of [paper.url, `/api/posts/${created.id}/papers/0`])
      expect(await textOf(path, 'vic'), path).toEqual([200, 'words']);
    expect((await textOf(`/api/posts/${created.id}/photo`, 'vic'))[0]).toBe(200);
    for (const path of [`/api/posts/${created.id}/papers/1`, `/api/posts/${created.id}/title`, '/api/posts/99/photo'])
      expect((await textOf(path, 'vic'))[0], path).toBe(404);
    // The uploader now has no more rights than others.
    expect(
      (await server.data('GET /api/files:list', { as: 'ann' })).map((each: { id: number }) => each.id),
    ).not.toContain(paper.id);
    expect((await textOf(paper.url, 'nobody'))[0]).toBe(404);
  });

  test('the value of a record can be written back, and callers who may read it can copy it to another record', async () => {
    const paper = await uploadFile(server, { name: 'shared.txt', content: 'shared' });
    const first = await server.data('POST /api/posts:create', { as: 'ann', body: { papers: [paper.id] } });
    const again = { papers: first.papers, title: 'Back' };
    await server.data(`POST /api/posts:update?filterByTk=${first.id}`, { as: 'ben', body: again });
    const copy = await server.data('POST /api/posts:create', { as: 'ben', body: { papers: [paper.id] } });
    await server.data(`POST /api/posts:destroy?filterByTk=${first.id}`, { as: 'ann' });
    expect(await textOf(paper.url, 'vic')).toEqual([200, 'shared']);
    await server.data(`POST /api/posts:update?filterByTk=${copy.id}`, { as: 'ann', body: { papers: [] } });
    for (const as of ['ann', 'ben', 'admin']) expect((await textOf(paper.url, as))[0]).toBe(404);
  });

  test('filters distinguish records with files from records without files', async () => {
    await server.data('POST /api/posts:create', { body: { title: 'empty list', papers: [] } });
    await server.data('POST /api/posts:create', { body: { title: 'null' } });
    const titles = async (filter: object): Promise<string[]> =>
      (await server.data(`GET /api/posts:list?filter=${JSON.stringify(filter)}`)).map(
        (each: { title: string }) => each.title,
      );
    expect(await titles({ papers: { $empty: true } })).toEqual(expect.arrayContaining(['empty list', 'null']));
    expect(await titles({ papers: { $notEmpty: true } })).not.toContain('empty list');
    expect(await titles({ photo: { $null: true } })).toContain('null');
  });

  test('a download has the right headers, and supports ranges', async () => {
    const { url } = await uploadFile(server, { name: 'a 50%; név.txt', content: '0123456789' });
    const whole = await fetchBytes(server, url);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      etag: `"${hash('sha256', '0123456789')}"`,
      'content-length': '10',
    });
    expect(whole.headers.get('content-disposition')).toContain("filename*=UTF-8''a%2050%25%3B%20n%C3%A9v.txt");
    const part = await fetchBytes(server, url, { headers: { range: 'bytes=2-4' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 2-4/10', '234']);
    const etag = whole.headers.get('etag')!;
    expect((await fetchBytes(server, url, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await fetchBytes(server, url, { headers: { range: 'bytes=20-' } })).status).toBe(416);
    const head = await fetchBytes(server, url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
  });

  test('the history shows former files, and a file in the trash is restored with its record', async () => {
    const fields = [{ name: 'doc', type: 'file' }];
    await server.data('POST /api/collections:create', {
      body: { name: 'notes', fields, options: { logging: true, paranoid: true } },
    });
    const [one, two] = [
      await uploadFile(server, { name: '1.txt', content: '1' }),
      await uploadFile(server, { name: '2.txt', content: '2' }),
    ];
    const { id } = await server.data('POST /api/notes:create', { as: 'ann', body: { doc: one.id } });
    await server.data(`POST /api/notes:update?filterByTk=${id}`, { as: 'ann', body: { doc: two.id } });
    const history = await server.data(`GET /api/notes:history?filterByTk=${id}`);
    expect(JSON.stringify(history)).toContain('1.txt');
    const entry = Math.min(...history.map((each: { id: number }) => each.id));
    await server.play({
      name: 'a revert does not bring back a file that nobody may read any more',
      request: `POST /api/notes:revert?filterByTk=${id}&entry=${entry}`,
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { doc: expect.any(String) } } },
    });
    // The file of a record in the trash cannot be read until the record is restored.
    await server.data(`POST /api/notes:destroy?filterByTk=${id}`, { as: 'ann' });
    expect((await textOf(two.url))[0]).toBe(404);
    await server.data(`POST /api/notes:restore?filterByTk=${id}`, { as: 'ann' });
    expect(await textOf(two.url)).toEqual([200, '2']);
  });

  test('every kind of create and update accepts files', async () => {
    const ids: number[] = [];
    for (let index = 0; index < 5; index += 1)
      ids.push((await uploadFile(server, { name: `${index}.txt`, content: `text ${index}` })).id);
    const many = await server.data('POST /api/posts:create', {
      as: 'ann',
      body: [
        { title: 'm1', papers: [ids[0]] },
        { title: 'm2', papers: [ids[1]] },
      ],
    });
    await server.data(`POST /api/posts:update?filterByTk=[${many[0].id},${many[1].id}]`, {
      as: 'ann',
      body: { papers: [ids[2]] },
    });
    await server.data('POST /api/posts:updateOrCreate?filterKeys=title', {
      as: 'ann',
      body: { title: 'm1', papers: [ids[3]] },
    });
    await server.data('POST /api/batch', {
      as: 'ann',
      body: { operations: [{ op: 'create', resource: 'posts', values: { papers: [ids[4]] } }] },
    });
    for (const [index, id] of ids.entries())
      expect([index, (await textOf(`/api/files/${id}`, 'vic'))[0]]).toEqual([index, index < 2 ? 404 : 200]);
  });
});

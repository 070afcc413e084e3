import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { fetchBytes, png, sendFiles, startFileServer } from '../support/file-server.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

type Part = readonly [name: string, content: string | Uint8Array<ArrayBuffer>, filename?: string];
type Refusal = readonly [name: string, path: string, parts: readonly Part[], status: number, as?: string];

describeEngines('creates and updates with files', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startFileServer(engine);
  });
  afterAll(() => server.stop());

  async function send(path: string, parts: readonly Part[], as = 'ann'): Promise<Reply> {
    const form = new FormData();
    for (const [name, content, filename] of parts)
      if (filename === undefined) form.append(name, content as string);
      else form.append(name, new Blob([content]), filename);
    const response = await fetch(server.running.url + path, {
      method: 'POST',
      headers: as === 'nobody' ? {} : { authorization: `Bearer ${server.tokens.get(as)}` },
      body: form,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  }
  const countAll = async (): Promise<number[]> => [
    (await server.data('GET /api/posts:list?pageSize=1000')).length,
    (await server.data('GET /api/files:list?pageSize=1000', { as: 'ann' })).length,
  ];

  test('a record is created with its files in one request', async () => {
    const { status, body } = await send('/api/posts:create', [
      ['data', JSON.stringify({ title: 'Form' })],
      ['photo', png, 'p.png'],
      ['papers', 'one', '1.txt'],
      ['papers[]', 'two', '2.txt'],
    ]);
    expect([status, body.data]).toMatchObject([
      200,
      { title: 'Form', photo: { name: 'p.png', width: 1 }, papers: [{ name: '1.txt' }, { name: '2.txt' }] },
    ]);
    const second = await fetchBytes(server, `/api/posts/${body.data.id}/papers/1`, { as: 'vic' });
    expect(await second.text()).toBe('two');
  });

  test('an update adds files to those that its list names', async () => {
    const { body } = await send('/api/posts:create', [['papers', 'one', '1.txt']]);
    const { id, papers } = body.data;
    const updated = await send(`/api/posts:update?filterByTk=${id}`, [
      ['papers', 'two', '2.txt'],
      ['data', JSON.stringify({ title: 'More', papers })],
    ]);
    expect(updated.body.data).toMatchObject({ title: 'More', papers: [papers[0], { name: '2.txt' }] });
    const replaced = await send(`/api/posts:update?filterByTk=${id}`, [['papers', 'three', '3.txt']]);
    expect(replaced.body.data).toMatchObject({ title: 'More', papers: [{ name: '3.txt' }] });
  });

  const data = JSON.stringify({ title: 'Refused' });
  const refusals: readonly Refusal[] = [
    ['a file that the field does not accept', '/api/posts:create', [['photo', 'text', 'a.txt']], 422],
    [
      'two files for a field of one',
      '/api/posts:create',
      [
        ['photo', png, '1.png'],
        ['photo', png, '2.png'],
      ],
      400,
    ],
    [
      'one file where a list is needed',
      '/api/posts:create',
      [
        ['data', '{"papers":5}'],
        ['papers', 'x', 'x'],
      ],
      400,
    ],
    ['too many files', '/api/posts:create', ['1', '2', '3', '4'].map((each): Part => ['papers', each, each]), 422],
    ['a file for another field', '/api/posts:create', [['title', 'text', 'a.txt']], 400],
    ['a text for a file field', '/api/posts:create', [['photo', 'text']], 400],
    [
      'the record twice',
      '/api/posts:create',
      [
        ['data', data],
        ['data', data],
      ],
      400,
    ],
    ['a record that is no JSON', '/api/posts:create', [['data', '{']], 400],
    ['a list of records', '/api/posts:create', [['data', '[]']], 400],
    [
      'an unknown field',
      '/api/posts:create',
      [
        ['data', '{"nonsense":1}'],
        ['papers', 'x', 'x'],
      ],
      400,
    ],
    ['a role without the permission', '/api/posts:create', [['papers', 'x', 'x']], 403, 'vic'],
    ['no credential', '/api/posts:create', [['papers', 'x', 'x']], 401, 'nobody'],
    ['a record that does not exist', '/api/posts:update?filterByTk=9999', [['papers', 'x', 'x']], 404],
    ['an action that takes no files', '/api/collections:create', [['data', '{"name":"x"}']], 415],
  ];
  test.each(refusals)('%s: nothing is changed', async (...refusal) => {
    const [, path, parts, status, as = 'ann'] = refusal as unknown as Refusal;
    const before = await countAll();
    const reply = await send(path, parts, as);
    expect([reply.status, reply.text]).toEqual([status, expect.any(String)]);
    expect(await countAll()).toEqual(before);
  });

  test('an idempotency key is refused, and the reply says that a repeated create creates another record', async () => {
    const before = await countAll();
    const { status, body } = await sendFiles(server, '/api/posts:create', {
      files: [{ name: 'x.txt', content: 'x' }],
      headers: { 'idempotency-key': 'a-key-of-a-form-1' },
    });
    expect([status, body.code]).toEqual([400, 'HEADER_INVALID']);
    expect(body.message).toContain('a repeated create creates another record');
    expect(await countAll()).toEqual(before);
  });

  test('a dry run stores nothing', async () => {
    const before = await countAll();
    const { status, body } = await send('/api/posts:create?dryRun=true', [['papers', 'x', 'x.txt']]);
    expect([status, body.meta, body.data.papers]).toMatchObject([200, { dryRun: true }, [{ name: 'x.txt' }]]);
    expect(await countAll()).toEqual(before);
  });
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutboundFailure } from '../../src/base/outbound-resolver.ts';
import { findOneClickUrl } from '../../src/mail/list-unsubscribe.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

const post = 'List-Unsubscribe-Post: List-Unsubscribe=One-Click';

describeEngines('leaving a mailing list', (engine) => {
  let server: TestServer;
  const requests: [string, unknown][] = [];
  const ids = new Map<string, number>();
  const unsubscribe = (subject: string, as = 'ann'): Promise<Reply> =>
    server.call(`POST /api/emails:unsubscribe?filterByTk=${ids.get(subject)}`, { as });

  beforeAll(async () => {
    const outbound = {
      get: () => Promise.reject(new OutboundFailure('no GET is expected')),
      exchange: async (url: string, form: unknown) => {
        requests.push([url, form]);
        if (url.includes('unreachable')) throw new OutboundFailure('192.168.0.1 refused the connection');
        return { status: url.includes('refused') ? 302 : 200, retryAfter: null, bytes: Buffer.alloc(0) };
      },
    };
    server = await startMailAccountServer(engine, {}, { mailNetwork: { outbound } });
    for (const [subject, headers] of Object.entries({
      good: ['List-Unsubscribe: <mailto:leave@list.example>, <https://list.example/u?t=1>', post],
      refused: ['List-Unsubscribe: <https://list.example/refused>', post],
      unreachable: ['List-Unsubscribe: <https://list.example/unreachable>', post],
      link: ['List-Unsubscribe: <https://list.example/u?t=1>'],
    })) {
      const { ids: stored } = await upload(server, 'ann', 1, makeRawMail({ subject, headers, id: `${subject}@x` }));
      ids.set(subject, stored[0]!);
    }
  });
  afterAll(() => server.stop());

  test('sends one request of RFC 8058, and reading sends none', async () => {
    await server.data(`GET /api/emails/${ids.get('good')}`, { as: 'ann' });
    expect(requests).toEqual([]);
    const { status, body } = await unsubscribe('good');
    expect([status, body.data]).toEqual([200, { id: ids.get('good'), unsubscribed: true }]);
    expect(requests).toMatchObject([
      [
        'https://list.example/u?t=1',
        {
          body: 'List-Unsubscribe=One-Click',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        },
      ],
    ]);
    expect(Object.keys((requests[0]![1] as { headers: object }).headers).sort()).toEqual([
      'content-type',
      'user-agent',
    ]);
  });

  test('if the list refuses or cannot be reached, the reply is 404 and does not say why', async () => {
    for (const subject of ['refused', 'unreachable', 'link']) {
      const { status, body, text } = await unsubscribe(subject);
      expect([subject, status, body.code]).toEqual([subject, 404, 'UNSUBSCRIBE_FAILED']);
      expect(text).not.toContain('192.168');
    }
    expect(requests.map(([url]) => url)).not.toContain('https://list.example/u');
  });

  test('only callers who may see and change the e-mail can unsubscribe from its list', async () => {
    const before = requests.length;
    for (const as of ['bob', 'admin', 'nobody']) expect((await unsubscribe('good', as)).status).toBeGreaterThan(400);
    expect(requests).toHaveLength(before);
  });
});

test.each([
  ['http only', [['List-Unsubscribe', '<http://list.example/u>']], null],
  [
    'another value of the post header',
    [
      ['List-Unsubscribe', '<https://a.example/>'],
      ['List-Unsubscribe-Post', 'x'],
    ],
    null,
  ],
  [
    'two list headers',
    [
      ['List-Unsubscribe', '<https://a.example/>'],
      ['List-Unsubscribe', '<https://b.example/>'],
    ],
    null,
  ],
  ['a folded address', [['list-unsubscribe', '<https://a.example/\r\n  u>']], 'https://a.example/u'],
  [
    'the first https address',
    [['List-Unsubscribe', '<mailto:a@b.c>,<https://a.example/1>,<https://a.example/2>']],
    'https://a.example/1',
  ],
  ['no address', [['List-Unsubscribe', 'https://a.example/']], null],
] as const)('one click: %s', (_, headers, expected) => {
  const all = headers.some(([name]) => name === 'List-Unsubscribe-Post')
    ? headers
    : [...headers, ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'] as const];
  expect(findOneClickUrl({ content: { headers: all } })).toBe(expected);
});

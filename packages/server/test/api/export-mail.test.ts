import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCsv } from '../support/csv-parser.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('exports of collections of mail', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Quarterly numbers', id: 'e1@example.net' }));
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Summer party', id: 'e2@example.net' }));
  });
  afterAll(() => server.stop());

  const subjects = async (query: string, as: string): Promise<(string | null)[]> => {
    const { status, text } = await server.call(`GET /api/conversations:export?fields=subject&${query}`, { as });
    expect({ status, text }).toMatchObject({ status: 200 });
    return readCsv(text)
      .slice(1)
      .map(([subject]) => subject!)
      .sort();
  };

  test('conversations are exported with the search and the visibility of their list', async () => {
    expect(await subjects('', 'ann')).toEqual(['Quarterly numbers', 'Summer party']);
    expect(await subjects('search=party', 'ann')).toEqual(['Summer party']);
    expect(await subjects('folder=trash', 'ann')).toEqual([]);
    expect(await subjects('', 'bob')).toEqual([]);
    for (const name of ['attachments', 'mailboxes', 'accounts']) {
      const { text } = await server.call(`GET /api/${name}:export?format=json`, { as: 'bob' });
      expect(JSON.parse(text), name).toEqual([]);
    }
    const accounts = await server.call('GET /api/accounts:export', { as: 'ann' });
    expect(readCsv(accounts.text)).toHaveLength(2);
  });

  test('pages are refused, and e-mails are exported as messages only', async () => {
    await server.play({
      name: 'an export of conversations has no pages',
      request: 'GET /api/conversations:export?pageSize=1',
      as: 'ann',
      expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
    });
    await server.play({
      name: 'e-mails have no table format',
      request: 'GET /api/emails:export?account=1&format=csv',
      as: 'ann',
      expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
    });
    const { status, headers } = await server.call('GET /api/emails:export?account=1', { as: 'ann' });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/mbox']);
  });

  test('e-mails and conversations are exported into stored files', async () => {
    const read = async (path: string): Promise<string> => (await server.call(`GET ${path}`, { as: 'ann' })).text;
    const mbox = await server.data('POST /api/emails:storeExport?account=1', { as: 'ann' });
    expect(mbox).toMatchObject({ name: expect.stringMatching(/\.mbox$/), contentType: 'application/mbox' });
    expect(await read(mbox.url)).toBe(await read('/api/emails:export?account=1'));
    const body = { search: 'party', fields: ['subject'] };
    const { url } = await server.data('POST /api/conversations:storeExport', { as: 'ann', body });
    expect(readCsv(await read(url))).toEqual([['subject'], ['Summer party']]);
    await server.play({
      name: 'mail that may not be exported is not stored either',
      request: 'POST /api/emails:storeExport?account=1',
      as: 'bob',
      expect: { status: 403, code: 'NO_PERMISSION' },
    });
  });
});

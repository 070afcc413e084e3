/** Words of many languages in searches for mail. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { exactSearchCases, searchCases, searchMessages } from '../support/mail-search-cases.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

describeEngines('searching mail in many languages', (engine) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
  });
  afterAll(() => server.stop());

  test('a search finds other word forms, prefixes, and Chinese, Japanese and Korean text', {
    timeout: 240_000,
  }, async () => {
    const body = { email: 'eva@example.com', password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body });
    server.tokens.set('eva', await server.signIn(body.email, body.password));
    await server.data('POST /api/accounts:create', { as: 'eva', body: { address: 'eva@example.com' } });
    const mbox = Object.entries(searchMessages)
      .map(
        ([name, mail]) =>
          `From x Fri Nov 20 10:00:00 2026\r\n${makeRawMail({ ...mail, id: `${name}@questions` })}\r\n\r\n`,
      )
      .join('');
    const stored = await upload(server, 'eva', 'eva@example.com', mbox, 'application/mbox');
    expect(stored).toMatchObject({ stored: Object.keys(searchMessages).length, problems: [] });
    const find = async (search: string): Promise<string[]> => {
      const query = `search=${encodeURIComponent(search)}&fields=messageId&pageSize=100`;
      const found = await server.data(`GET /api/emails?${query}`, { as: 'eva' });
      return found.map(({ messageId }: Json) => messageId.split('@')[0]).sort();
    };
    const missed: string[] = [];
    const superfluous: string[] = [];
    for (const { search, expected } of searchCases) {
      const found = await find(search);
      missed.push(...expected.filter((each) => !found.includes(each)).map((each) => `${search}: ${each}`));
      superfluous.push(...found.filter((each) => !expected.includes(each)).map((each) => `${search}: ${each}`));
    }
    const count = searchCases.flatMap(({ expected }) => expected).length;
    expect(missed.length / count, missed.join('; ')).toBeLessThanOrEqual(0.05);
    // French `facture` and Spanish `facturación` share a stem.
    expect(superfluous.length / count, superfluous.join('; ')).toBeLessThanOrEqual(0.1);
    for (const { search, expected } of exactSearchCases)
      expect([search, await find(search)]).toEqual([search, [...expected].sort()]);
    // Conversations are found by the same words.
    expect(
      await server.data(`GET /api/conversations?search=${encodeURIComponent('회의')}`, { as: 'eva' }),
    ).toHaveLength(1);
  });
});

/** Received messages are checked after they are stored, and their warnings are shown. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readMailSource } from '../../src/mail/files/mail-source.ts';
import { writeMbox } from '../../src/mail/files/mbox-writer.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { MapResolver } from '../support/map-resolver.ts';
import { MovingClock } from '../support/moving-clock.ts';
import { makeRawMail, type RawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { publishKey, sign } from '../support/signed-mail.ts';

const hamFolder = join(
  process.env['SHARED_DATA_DIR'] ?? join(import.meta.dirname, '../../../../../shared/data'),
  'mail/easy-ham',
);
const hasHam = existsSync(hamFolder);
if (!hasHam) process.stdout.write(`skipped: warnings about real mail, since ${hamFolder} is absent\n`);

describeEngines('the authenticity of received mail', (engine) => {
  let server: TestServer;
  let dns: MapResolver;
  let clock: MovingClock;
  let number = 0;
  beforeEach(async () => {
    dns = new MapResolver();
    clock = new MovingClock();
    server = await startMailAccountServer(engine, {}, { dns, clock });
  });
  afterEach(() => server.stop());

  const checks = () => server.running.applications.main.mail.authenticity;
  const run = (text: string) =>
    server.running.applications.main.database.write((transaction) => transaction.run({ text, values: [] }));
  const count = async (table: string): Promise<number> => {
    const { database } = server.running.applications.main;
    return Number((await database.read([{ text: `SELECT count(*) FROM ${table}`, values: [] }]))[0]?.[0]?.[0]);
  };
  const compose = (mail: RawMail): string => {
    number += 1;
    return makeRawMail({ id: `m${number}@example.net`, text: `Text ${number}`, ...mail });
  };
  /** Stores a message that arrives now. @returns the id of the e-mail. */
  const receive = async (raw: string, more = ''): Promise<number> => {
    const receivedAt = new Date(clock.now() + 1000).toISOString();
    const { ids } = await upload(server, 'ann', 1, raw, 'message/rfc822', `&receivedAt=${receivedAt}${more}`);
    return ids[0] as number;
  };
  const get = (id: number): Promise<Json> => server.data(`GET /api/emails/${id}`, { as: 'ann' });
  const receiveAndCheck = async (raw: string, more = ''): Promise<Json> => {
    const id = await receive(raw, more);
    await checks().runNow();
    return get(id);
  };

  test('a signed message is verified, and subscribers get an event', async () => {
    const key = publishKey(dns, 'example.org');
    const id = await receive(await sign(compose({ from: 'Ada <ada@example.org>' }), key));
    await expect.poll(async () => (await get(id)).authentication?.verdict).toBe('verified');
    expect((await get(id)).authentication).toMatchObject({
      domain: 'example.org',
      results: [
        { method: 'dkim', result: 'pass', domain: 'example.org', aligned: true, reason: null, source: 'checked' },
        { method: 'dmarc', result: 'none' },
      ],
    });
    const findEvent = async () => {
      const events = await server.running.applications.main.changes.read(null, 1000);
      return events.find(({ name }) => name === 'emails.updated');
    };
    // On PostgreSQL an event is visible when all earlier transactions have ended.
    await expect.poll(findEvent).toMatchObject({ resource: 'emails', changed: ['authentication', 'warnings'] });
    const event = await findEvent();
    expect(JSON.stringify(event)).toContain(String(id));
    expect(await count('"mailChecks"')).toBe(0);
  });

  test('a forged message gets its warnings, and a header of the sender does not hide them', async () => {
    dns.addTexts('_dmarc.example.org', 'v=DMARC1; p=reject');
    await run(`UPDATE accounts SET "authservIds"='["mx.example.com"]' WHERE id=1`);
    const forged = compose({
      from: 'Ada <ada@example.org>',
      headers: ['Authentication-Results: mx.example.com; dmarc=pass header.from=example.org'],
    });
    const imported = await receiveAndCheck(forged);
    expect(imported.authentication).toMatchObject({ verdict: 'unverified' });
    // A message from the account's mail server: its topmost header is trusted.
    // Its check as an imported file has ended, so that it does not replace the result of the check below.
    const { id } = await receiveAndCheck(
      compose({
        from: 'Ada <ada@example.org>',
        headers: [
          'Authentication-Results: mx.example.com; spf=fail smtp.mailfrom=example.org; dmarc=fail header.from=example.org',
        ],
      }),
    );
    await run('UPDATE "mailPlacements" SET uid=id');
    await run(
      `INSERT INTO "mailChecks" ("accountId","emailId",attempts,"notBefore") SELECT 1,id,0,'2020-01-01T00:00:00.000Z' FROM emails WHERE id=${id} ON CONFLICT DO NOTHING`,
    );
    await checks().runNow();
    const failed = await get(id);
    expect(failed.authentication).toMatchObject({ verdict: 'failed' });
    expect(failed.warnings).toEqual(expect.arrayContaining(['spfFailed', 'dmarcFailed']));
  });

  test('look-alike domains, first messages and unverified messages of known senders get warnings', async () => {
    const key = publishKey(dns, 'example.org');
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ from: 'shop@example.com', to: 'cora@partner.test', id: 'out@example.com' }),
      'message/rfc822',
      '&mailbox=Sent',
    );
    const first = await receiveAndCheck(await sign(compose({ from: 'Ada <ada@example.org>' }), key));
    expect(first.warnings).toEqual(['firstTimeSender']);
    const second = await receiveAndCheck(await sign(compose({ from: 'Ada <ada@example.org>' }), key));
    expect(second.warnings).toEqual([]);
    expect((await receiveAndCheck(compose({ from: 'Ada <ada@example.org>' }))).warnings).toEqual([
      'knownSenderNotVerified',
    ]);
    expect((await receiveAndCheck(compose({ from: 'Cora <cora@partner.test>' }))).warnings).toEqual([]);
    expect((await receiveAndCheck(compose({ from: 'Cora <cora@partmer.test>' }))).warnings).toEqual([
      'senderDomainResemblesKnown',
      'firstTimeSender',
    ]);
    expect((await receiveAndCheck(compose({ from: 'Boss <boss@examp1e.com>' }))).warnings).toContain(
      'senderDomainResemblesKnown',
    );
    const list = compose({ from: 'News <news@list.test>', headers: ['List-Id: <news.list.test>'] });
    expect((await receiveAndCheck(list)).warnings).toEqual([]);
    const two = compose({ from: 'Ada <ada@example.org>, Eve <eve@evil.test>' });
    expect((await receiveAndCheck(two)).warnings).toEqual(['severalSenders']);
  });

  test('a name server that does not reply delays nothing, and is queried again later', async () => {
    const key = publishKey(dns, 'example.org');
    dns.records.set(`TXT ${key.name}`, 'ETIMEOUT');
    const raw = await sign(compose({ from: 'Ada <ada@example.org>' }), key);
    const answer = dns.hold();
    const id = await receive(raw);
    await expect.poll(() => dns.lookups.length).toBeGreaterThan(0);
    expect((await get(id)).authentication).toBeNull();
    answer();
    await expect.poll(async () => (await get(id)).authentication?.verdict, { timeout: 20_000 }).toBe('undetermined');
    await checks().runNow();
    expect(await count('"mailChecks"')).toBe(1);
    dns.addTexts(key.name, key.record);
    clock.advance(61_000);
    await checks().runNow();
    expect((await get(id)).authentication.verdict).toBe('verified');
    expect(await count('"mailChecks"')).toBe(0);
  }, 40_000);

  test('checks that were pending when the server stopped are made after the next start', async () => {
    const key = publishKey(dns, 'example.org');
    dns.delay = 60_000;
    const id = await receive(await sign(compose({ from: 'Ada <ada@example.org>' }), key));
    await expect.poll(() => dns.lookups.length).toBeGreaterThan(0);
    expect((await get(id)).authentication).toBeNull();
    const stopping = server.running.stop();
    dns.delay = 0;
    await stopping;
    await server.boot();
    await expect.poll(async () => (await get(id)).authentication?.verdict, { timeout: 30_000 }).toBe('verified');
  }, 30_000);

  test('old messages, drafts and messages of the account are not checked, and deleting a message during its check causes no error', async () => {
    await upload(server, 'ann', 1, compose({ from: 'Ada <ada@example.org>', date: 'Fri, 02 Jan 2026 10:00:00 +0000' }));
    await receive(compose({ from: 'shop@example.com' }), '&mailbox=Sent');
    await receive(compose({ from: 'shop@example.com' }), '&mailbox=Drafts&flags=draft');
    expect(await count('"mailChecks"')).toBe(0);
    dns.delay = 300;
    const key = publishKey(dns, 'example.org');
    const id = await receive(await sign(compose({ from: 'Ada <ada@example.org>' }), key));
    await expect.poll(() => dns.lookups.length).toBeGreaterThan(0);
    await server.data(`POST /api/emails:destroy?filterByTk=${id}&force=true`, { as: 'ann' });
    await checks().runNow();
    expect(await count('"mailChecks"')).toBe(0);
  });

  test('a forged message from the account itself is checked, and its recipients do not become known senders', async () => {
    const forged = await receiveAndCheck(
      compose({ from: 'Shop <shop@example.com>', to: 'shop@example.com', cc: 'Eve <eve@examp1e.com>' }),
    );
    expect(forged.outgoing).toBe(true);
    expect(forged.authentication.verdict).toBe('unverified');
    const following = await receiveAndCheck(compose({ from: 'Eve <eve@examp1e.com>' }));
    expect(following.warnings).toEqual(['senderDomainResemblesKnown', 'firstTimeSender']);
  });

  test('the names of the mail server are learned from delivered messages', async () => {
    const header =
      'Authentication-Results: mx.provider.test; spf=pass smtp.mailfrom=s.test; dmarc=pass header.from=s.test';
    for (let index = 0; index < 20; index += 1)
      await receive(
        compose({ from: `a@s${index % 6}.test`, headers: [header.replaceAll('s.test', `s${index % 6}.test`)] }),
      );
    await checks().runNow();
    await run('UPDATE "mailPlacements" SET uid=id');
    const id = await receive(compose({ from: 'a@s1.test', headers: [header.replaceAll('s.test', 's1.test')] }));
    await run(`UPDATE "mailPlacements" SET uid=id WHERE "emailId"=${id}`);
    await run(
      `INSERT INTO "mailChecks" ("accountId","emailId",attempts,"notBefore") SELECT 1,id,0,'2020-01-01T00:00:00.000Z' FROM emails WHERE id=${id} ON CONFLICT DO NOTHING`,
    );
    await checks().runNow();
    expect((await get(id)).authentication).toMatchObject({ verdict: 'verified', domain: 's1.test' });
  });

  test('owners can set the name of their mail server, and an invalid list changes nothing', async () => {
    const patch = (authservIds: unknown) =>
      server.call('PATCH /api/accounts/1', { as: 'ann', body: { name: 'Changed', authservIds } });
    const read = () => server.data('GET /api/accounts/1', { as: 'ann' });
    for (const wrong of [
      'mx.example.com',
      [''],
      ['a b'],
      [1],
      Array.from({ length: 11 }, (_, index) => `mx${index}.test`),
    ]) {
      const before = await read();
      const { status, body } = await patch(wrong);
      expect([status, body.message ?? body.details]).toEqual([expect.toBeOneOf([400, 422]), expect.anything()]);
      expect(JSON.stringify(body)).toContain('authservIds');
      expect(await read()).toEqual(before);
    }
    expect((await patch(['MX.Example.com', 'mx.example.com'])).status).toBe(200);
    expect((await read()).authservIds).toEqual(['mx.example.com']);
    expect((await patch([])).status).toBe(200);
    expect((await read()).authservIds).toBeNull();
  });

  test('correspondents of mail that an earlier version stored are recorded', async () => {
    for (let index = 0; index < 3; index += 1) await receive(compose({ from: `p${index}@example.org` }));
    await checks().runNow();
    const before = await count('"mailCorrespondents"');
    expect(before).toBe(3);
    await run('DELETE FROM "mailCorrespondents"');
    await run('UPDATE accounts SET "correspondentsVersion"=NULL');
    await checks().runNow();
    expect(await count('"mailCorrespondents"')).toBe(before);
    const again = await receiveAndCheck(compose({ from: 'p1@example.org' }));
    expect(again.warnings).toEqual([]);
  });

  // The checks of a message do not depend on the engine, so the long list of messages is checked with only one.
  describe.skipIf(!hasHam || engine.name !== 'sqlite')('real mail', () => {
    test('legitimate messages get few warnings', { timeout: 240_000 }, async () => {
      const step = process.env['MAIL_SCALE'] ? 1 : 10;
      async function* some() {
        let index = 0;
        for await (const each of readMailSource(hamFolder)) if (index++ % step === 0) yield each;
      }
      const { stored } = await upload(server, 'ann', 1, writeMbox(some()), 'application/mbox');
      await run(`UPDATE accounts SET "createdAt"='2000-01-01T00:00:00.000Z'`);
      await run(
        `INSERT INTO "mailChecks" ("accountId","emailId",attempts,"notBefore") SELECT 1,id,0,'2020-01-01T00:00:00.000Z' FROM emails`,
      );
      const begun = performance.now();
      await checks().runNow();
      const seconds = (performance.now() - begun) / 1000;
      const { database } = server.running.applications.main;
      const [rows = []] = await database.read([{ text: 'SELECT warnings FROM emails', values: [] }]);
      const found: Record<string, number> = {};
      for (const [list] of rows)
        for (const name of (typeof list === 'string' ? JSON.parse(list) : list) as string[])
          found[name] = (found[name] ?? 0) + 1;
      process.stdout.write(
        `${engine.name}: ${stored} honest messages, checked in ${seconds.toFixed(1)} s: ${JSON.stringify(found)}\n`,
      );
      const share = (name: string): number => (found[name] ?? 0) / stored;
      for (const name of [
        'senderNameShowsOtherAddress',
        'senderDomainLooksAlike',
        'severalSenders',
        'senderDomainResemblesKnown',
        'knownSenderNotVerified',
        'spfFailed',
        'dkimFailed',
        'dmarcFailed',
      ])
        expect([name, share(name) < 0.005]).toEqual([name, true]);
      // The account has written to half of the senders. The others must not be reported as look-alikes of these.
      await run('UPDATE "mailCorrespondents" SET written=verified OR id%2=0');
      await run(
        `INSERT INTO "mailChecks" ("accountId","emailId",attempts,"notBefore") SELECT 1,id,0,'2020-01-01T00:00:00.000Z' FROM emails`,
      );
      await checks().runNow();
      const text = `SELECT count(*) FROM emails WHERE ${engine.name === 'postgres' ? 'warnings::text' : 'warnings'} LIKE '%ResemblesKnown%'`;
      const [[[lookalikes] = []] = []] = await database.read([{ text, values: [] }]);
      process.stdout.write(`${engine.name}: ${lookalikes} of them resemble a known domain\n`);
      expect(Number(lookalikes) / stored).toBeLessThan(0.005);
      expect(share('replyGoesElsewhere')).toBeLessThan(0.05);
      expect(share('linkShowsOtherDomain')).toBeLessThan(0.05);
    });
  });
});

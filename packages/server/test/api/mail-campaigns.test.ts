import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CampaignFixture } from '../support/campaign-fixture.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { storeArrival } from '../support/mail-arrivals.ts';
import { makeRawMail } from '../support/raw-mail.ts';

describeEngines('campaigns', (engine) => {
  let fixture: CampaignFixture;
  beforeAll(async () => {
    fixture = await CampaignFixture.open(engine);
  });
  afterAll(() => fixture?.stop());
  beforeEach(() => {
    fixture.delivery.relay.fault = () => null;
  });
  const arrive = (raw: string): Promise<number> =>
    storeArrival(fixture.server, raw, { account: { id: 2, address: 'mia@example.com' }, as: 'admin' });
  const listEvents = async (resource: string, as = 'mia'): Promise<Json[]> =>
    (await fixture.server.data(`GET /api/changes:list?resource=${resource}&pageSize=500`, { as })) as Json[];

  test('a preview counts recipients, says who is left out, and shows the first messages with escaped values', async () => {
    await fixture.addCustomers('pre', 5);
    const records = [
      { name: 'pre <b>x</b>', email: 'PRE1@example.net', tier: 'gold' },
      { name: 'pre none', email: 'no address', tier: 'gold' },
      { name: 'pre silver', email: 'silver@example.net', tier: 'silver' },
    ];
    await fixture.server.data('POST /api/customers:create', { body: records });
    const suppressed = { accountId: 2, address: 'Pre2@example.net' };
    await fixture.server.data('POST /api/mailSuppressions:create', { as: 'mia', body: suppressed });
    const id = await fixture.create('pre');
    const preview = await fixture.step(id, 'preview');
    expect(preview).toMatchObject({
      recipients: 4,
      records: 7,
      complete: true,
      leftOut: [
        { reason: 'suppressed', count: 1, examples: [{ address: 'pre2@example.net' }] },
        { reason: 'duplicate', count: 1, examples: [{ address: 'pre1@example.net' }] },
        { reason: 'noAddress', count: 1, examples: [{ address: null }] },
      ],
    });
    expect(preview.messages[0]).toMatchObject({
      address: 'pre1@example.net',
      subject: 'News for pre 1',
      text: expect.stringContaining('Dear pre 1,'),
      html: expect.stringMatching(/^<p>Dear pre 1,<\/p>\n<p><a href="#unsubscribe">/),
    });
    const campaign = {
      audience: { collection: 'customers', filter: { name: 'pre <b>x</b>' }, field: 'email' },
      html: '<i>{{name}}{{email|none}}</i>',
    };
    const unsaved = await fixture.server.data('POST /api/mailCampaigns:preview', {
      as: 'mia',
      body: { account: 2, campaign },
    });
    expect(unsaved.messages[0].html).toContain('<i>pre &lt;b&gt;x&lt;/b&gt;PRE1@example.net</i>');
    expect(fixture.received('pre')).toEqual([]);
  });

  test('a campaign goes once to each recipient at its rate, with headers to unsubscribe, and reports each step', async () => {
    await fixture.addCustomers('go', 12);
    await fixture.server.data('POST /api/mailSuppressions:create', {
      as: 'mia',
      body: { accountId: 2, address: 'go12@example.net' },
    });
    const id = await fixture.create('go', { ratePerMinute: 600 });
    fixture.delivery.relay.fault = ({ step, address }) =>
      step === 'rcpt' && address === 'go3@example.net' ? { code: 550, message: '5.1.1 No such user' } : null;
    const started = fixture.delivery.clock.now();
    expect(await fixture.step(id, 'start')).toMatchObject({ id, status: 'sending', problem: null });
    const done = await fixture.untilStatus(id, 'done');
    expect(done).toMatchObject({ recipients: 12, leftOut: 0, sent: 10, failed: 1, skipped: 1, bounced: 0 });
    expect(Date.parse(done.finishedAt) - started).toBeGreaterThanOrEqual(1000);
    const received = fixture.received('go');
    expect(new Set(received.map(({ to }) => to[0])).size).toBe(10);
    expect(received.length).toBe(10);
    const raw = received.find(({ to }) => to[0] === 'go1@example.net')!.raw.toString();
    expect(raw).toContain('Subject: News for go 1\r\n');
    expect(raw).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(raw.replaceAll('\r\n ', ' ')).toMatch(
      /List-Unsubscribe: <https:\/\/data\.example\.com\/unsubscribe\/[\w.-]+>/,
    );
    const messages = await fixture.messages(id);
    expect(messages['go1@example.net']).toMatchObject({ status: 'sent', emailId: expect.any(Number), reason: null });
    expect(messages['go3@example.net']).toMatchObject({ status: 'failed', reason: expect.stringContaining('5.1.1') });
    expect(messages['go12@example.net']).toMatchObject({ status: 'skipped', emailId: null });
    // The address that does not exist gets no further campaign, and no report about it is put into the inbox.
    const list = await fixture.server.data('GET /api/mailSuppressions:list?filter={"address":"go3@example.net"}', {
      as: 'mia',
    });
    expect(list).toMatchObject([{ reason: 'bounced', campaignId: id }]);
    // PostgreSQL shows an event when all older transactions have ended.
    const events = await fixture.until(
      async () => (await listEvents('campaign')).filter((each) => each.payload.campaign === id),
      (all) => all.some(({ name }) => name === 'campaign.done'),
    );
    const names = Map.groupBy(events, ({ name }) => name as string);
    expect(Object.fromEntries([...names].map(([name, all]) => [name, all.length]))).toEqual({
      'campaign.started': 1,
      'campaign.sent': 10,
      'campaign.failed': 1,
      'campaign.skipped': 1,
      'campaign.done': 1,
    });
    expect(events[0]).toMatchObject({ name: 'campaign.started', resource: 'campaign', tk: String(id) });
    const inbox = await fixture.server.data('GET /api/emails?accountId=2&folder=inbox', { as: 'mia' });
    expect(inbox).toEqual([]);
  });

  test('a campaign is not scheduled for a time in the past, and a time that has just passed means now', async () => {
    const id = await fixture.create('past');
    const before = await fixture.get(id);
    const toTime = (milliseconds: number): string =>
      new Date(fixture.delivery.clock.now() + milliseconds).toISOString();
    for (const at of [toTime(-365 * 86_400_000), toTime(-61_000), toTime(367 * 86_400_000)])
      await fixture.server.play({
        name: at,
        as: 'mia',
        request: `POST /api/mailCampaigns:schedule?filterByTk=${id}`,
        body: { at },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { at: expect.stringContaining('must be in the future') } },
        },
      });
    expect(await fixture.get(id)).toEqual(before);
    const at = toTime(-30_000);
    expect(await fixture.step(id, 'schedule', { at })).toMatchObject({ status: 'scheduled', scheduledAt: at });
    await fixture.step(id, 'cancel');
  });

  test('a repeated request to schedule a campaign has the first reply, also after its time has passed', async () => {
    const id = await fixture.create('repeated');
    const at = new Date(fixture.delivery.clock.now() + 3_600_000).toISOString();
    const scenario = (key: string) => ({
      name: key,
      as: 'mia',
      request: `POST /api/mailCampaigns:schedule?filterByTk=${id}`,
      headers: { 'idempotency-key': key },
      body: { at },
    });
    const first = await fixture.server.play({
      ...scenario('schedule-once'),
      expect: {
        status: 200,
        body: { data: { status: 'scheduled', scheduledAt: at } },
        events: ['campaign.scheduled', 'mailCampaigns.updated'],
      },
    });
    await fixture.step(id, 'cancel');
    fixture.delivery.clock.advance(7_200_000);
    const repeated = await fixture.server.play({ ...scenario('schedule-once'), expect: { status: 200 } });
    expect(repeated.text).toBe(first.text);
    expect(repeated.headers.get('idempotency-replayed')).toBe('true');
    expect(await fixture.get(id)).toMatchObject({ status: 'cancelled' });
    await fixture.server.play({ ...scenario('schedule-again'), expect: { status: 422, code: 'VALUE_INVALID' } });
  });

  test('a campaign can be paused, resumed, scheduled and cancelled, and a started one cannot be edited', async () => {
    await fixture.addCustomers('slow', 8);
    const id = await fixture.create('slow', { ratePerMinute: 60 });
    const at = new Date(fixture.delivery.clock.now() + 3_600_000).toISOString();
    expect(await fixture.step(id, 'schedule', { at })).toMatchObject({ status: 'scheduled', scheduledAt: at });
    fixture.delivery.clock.advance(3_600_000);
    await fixture.until(
      () => fixture.get(id),
      ({ sent }) => sent >= 2,
    );
    expect(await fixture.step(id, 'pause')).toMatchObject({ status: 'paused' });
    // A message that is in transmission at the pause is still sent; after that, the database must not change.
    await fixture.until(
      () => fixture.messages(id),
      (all) => Object.values(all).every(({ status }) => status !== 'sending'),
    );
    const body = { subject: 'Other' };
    const request = `PATCH /api/mailCampaigns/${id}`;
    const refusal = { status: 403, code: 'SYSTEM_PROTECTED' } as const;
    await fixture.server.play({ name: 'rewrite', as: 'mia', request, body, expect: refusal });
    await fixture.server.play({
      name: 'destroy',
      as: 'mia',
      request: `DELETE /api/mailCampaigns/${id}`,
      expect: refusal,
    });
    const path = (name: string): string => `POST /api/mailCampaigns:${name}?filterByTk=${id}`;
    await fixture.server.play({ name: 'start', as: 'mia', request: path('start'), expect: refusal });
    await fixture.server.data(request, { as: 'mia', body: { ratePerMinute: 120 } });
    const sent = (await fixture.get(id)).sent as number;
    await fixture.step(id, 'resume');
    await fixture.until(
      () => fixture.get(id),
      (each) => each.sent > sent,
    );
    expect(await fixture.step(id, 'cancel')).toMatchObject({ status: 'cancelled' });
    const messages = await fixture.until(
      () => fixture.messages(id),
      (all) => Object.values(all).every(({ status }) => status !== 'queued' && status !== 'sending'),
    );
    const statuses = Object.values(messages).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(['sent', 'cancelled']));
    expect(fixture.received('slow').length).toBe(statuses.filter((each) => each === 'sent').length);
    await fixture.server.data(`DELETE /api/mailCampaigns/${id}`, { as: 'mia' });
    expect(await fixture.messages(id)).toEqual({});
  });

  test('a message that is waiting for a retry has not failed if its campaign or its recipient ends it', async () => {
    await fixture.addCustomers('wait', 3);
    const id = await fixture.create('wait');
    fixture.delivery.relay.fault = ({ step, address }) =>
      step === 'rcpt' && address !== 'wait3@example.net' ? { code: 451, message: '4.7.1 Try again later' } : null;
    await fixture.step(id, 'start');
    await fixture.until(
      () => fixture.get(id),
      ({ sent }) => sent === 1,
    );
    const suppressed = { accountId: 2, address: 'wait2@example.net' };
    await fixture.server.data('POST /api/mailSuppressions:create', { as: 'mia', body: suppressed });
    expect(await fixture.step(id, 'cancel')).toMatchObject({ status: 'cancelled' });
    fixture.delivery.relay.fault = () => null;
    fixture.delivery.clock.advance(3_600_000);
    const messages = await fixture.until(
      () => fixture.messages(id),
      (all) => Object.values(all).every(({ status }) => status !== 'sending'),
    );
    expect(messages).toMatchObject({
      'wait1@example.net': { status: 'cancelled', reason: 'The campaign was cancelled.' },
      'wait2@example.net': { status: 'skipped', reason: 'The address gets no campaigns of this account any more.' },
      'wait3@example.net': { status: 'sent' },
    });
    expect(await fixture.get(id)).toMatchObject({ status: 'cancelled', sent: 1, skipped: 1, failed: 0 });
    expect(fixture.received('wait').map(({ to }) => to[0])).toEqual(['wait3@example.net']);
  });

  test('no domain gets more messages in a minute than the campaign allows', async () => {
    await fixture.addCustomers('dom', 5);
    await fixture.addCustomers('domb', 2);
    const rows = await fixture.server.data('GET /api/customers:list?filter={"email":{"$startsWith":"domb"}}');
    for (const { id, email } of rows)
      await fixture.server.data(`POST /api/customers:update?filterByTk=${id}`, {
        body: { email: email.replace('.net', '.org') },
      });
    const id = await fixture.create('dom', { domainRatePerMinute: 2 });
    await fixture.step(id, 'start');
    await fixture.until(
      () => fixture.get(id),
      ({ sent }) => sent === 4,
      10,
    );
    const domains = (): string[] => fixture.received('dom').map(({ to }) => to[0]!.split('@')[1]!);
    expect(domains().sort()).toEqual(['example.net', 'example.net', 'example.org', 'example.org']);
    fixture.delivery.clock.advance(61_000);
    await fixture.until(
      () => fixture.get(id),
      ({ sent }) => sent === 6,
      10,
    );
    fixture.delivery.clock.advance(61_000);
    await fixture.untilStatus(id, 'done');
    expect(domains().length).toBe(7);
  });

  test('bounces, replies and automatic answers are matched to the recipient', async () => {
    await fixture.addCustomers('back', 3);
    const id = await fixture.create('back');
    await fixture.step(id, 'start');
    await fixture.untilStatus(id, 'done');
    const idOf = (address: string): string =>
      /^Message-ID: <(.*)>\r$/im.exec(fixture.received(address)[0]!.raw.toString())![1]!;
    const report = [
      'From: postmaster@example.net',
      'Message-ID: <dsn@example.net>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      '--b\r\nContent-Type: text/plain\r\n\r\nFailed.\r\n--b\r\nContent-Type: message/delivery-status\r\n',
      'Reporting-MTA: dns; mx.example.net\r\n',
      'Final-Recipient: rfc822; back1@example.net\r\nAction: failed\r\nStatus: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 unknown\r\n',
      '--b\r\nContent-Type: text/rfc822-headers\r\n',
      `Message-ID: <${idOf('back1')}>\r\n`,
      '--b--\r\n',
    ];
    await arrive(report.join('\r\n'));
    await arrive(makeRawMail({ subject: 'Re: News', id: 'r@example.net', references: [idOf('back2')] }));
    const away = { subject: 'Away', id: 'a@example.net', inReplyTo: idOf('back3') };
    await arrive(makeRawMail({ ...away, headers: ['Auto-Submitted: auto-replied'] }));
    const messages = await fixture.messages(id);
    expect(Object.fromEntries(Object.entries(messages).map(([address, { status }]) => [address, status]))).toEqual({
      'back1@example.net': 'bounced',
      'back2@example.net': 'replied',
      'back3@example.net': 'sent',
    });
    expect(await fixture.get(id)).toMatchObject({ sent: 3, bounced: 1, replied: 1, failed: 0 });
    const [suppression] = await fixture.server.data(
      'GET /api/mailSuppressions:list?filter={"address":"back1@example.net"}',
      { as: 'mia' },
    );
    expect(suppression.reason).toBe('bounced');
  });

  test('a test message only goes to the account or to the user, and unsubscribes nobody', async () => {
    await fixture.addCustomers('bye', 2);
    const id = await fixture.create('bye');
    await fixture.server.play({
      name: 'a test to somebody else',
      as: 'mia',
      request: `POST /api/mailCampaigns:test?filterByTk=${id}`,
      body: { to: 'bye2@example.net' },
      expect: { status: 422, code: 'VALUE_INVALID' },
    });
    await fixture.step(id, 'test');
    await fixture.until(
      async () => fixture.received('mia'),
      (all) => all.length === 1,
    );
    const raw = fixture.received('mia')[0]!.raw.toString();
    expect(raw).toContain('Subject: News for bye 1\r\n');
    expect(raw).not.toContain('List-Unsubscribe');
  });

  test('the audience only contains records that the caller may list, at any time during the campaign', async () => {
    await fixture.addCustomers('perm', 4);
    await fixture.addCustomers('permsilver', 2, { tier: 'silver' });
    const { server } = fixture;
    const hidden = { collection: 'customers', filter: { note: { $startsWith: 's' } }, field: 'email' };
    for (const [name, more] of [
      ['a filter on a hidden field', { audience: hidden }],
      ['a hidden field as address', { audience: { ...hidden, filter: null, field: 'note' } }],
      ['a hidden field in the text', { text: '{{note}}' }],
      ['a collection without a grant', { audience: { collection: 'users', filter: null, field: 'email' } }],
    ] as const) {
      const id = await fixture.create('perm', more);
      for (const step of ['preview', 'test', 'start']) {
        const reply = await server.call(`POST /api/mailCampaigns:${step}?filterByTk=${id}`, { as: 'mia', body: {} });
        expect({ name, step, status: reply.status }).toEqual({ name, step, status: 403 });
        expect(reply.text).not.toContain('secret');
      }
    }
    const id = await fixture.create('perm', { ratePerMinute: 60 });
    await fixture.step(id, 'start');
    await fixture.until(
      () => fixture.get(id),
      ({ sent }) => sent >= 1,
    );
    expect(await fixture.get(id)).toMatchObject({ recipients: 4 });
    // A customer who leaves the row filter gets no message, although the customer is already a recipient.
    const [last] = await server.data('GET /api/customers:list?filter={"email":"perm4@example.net"}');
    await server.data(`POST /api/customers:update?filterByTk=${last.id}`, { body: { tier: 'silver' } });
    const [grant] = await server.data('GET /api/permissions:list?filter={"role":"marketer","resource":"customers"}');
    await server.data(`POST /api/permissions:destroy?filterByTk=${grant.id}`);
    const paused = await fixture.untilStatus(id, 'paused');
    expect(paused.problem).toContain('may not list');
    const count = fixture.received('perm').length;
    const { id: _, createdAt: _c, updatedAt: _u, ...rest } = grant;
    await server.data('POST /api/permissions:create', { body: rest });
    await fixture.step(id, 'resume');
    await fixture.untilStatus(id, 'done');
    expect(fixture.received('perm').length).toBeGreaterThan(count - 1);
    expect(fixture.received('permsilver')).toEqual([]);
    expect((await fixture.messages(id))['perm4@example.net']).toMatchObject({ status: 'skipped' });
  });

  test('campaigns of other accounts can be neither seen nor changed, and their events are not received', async () => {
    const { server } = fixture;
    const user = { email: 'eve@example.com', password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body: user });
    server.tokens.set('eve', await server.signIn(user.email, user.password));
    const id = await fixture.create('go');
    for (const resource of ['mailCampaigns', 'mailCampaignMessages', 'mailSuppressions'])
      expect(await server.data(`GET /api/${resource}:list`, { as: 'eve' })).toEqual([]);
    for (const step of ['preview', 'test', 'start', 'pause', 'resume', 'cancel']) {
      const reply = await server.call(`POST /api/mailCampaigns:${step}?filterByTk=${id}`, { as: 'eve', body: {} });
      expect({ step, status: reply.status }).toEqual({ step, status: 403 });
    }
    const body = { accountId: 2, name: 'x', audience: { collection: 'customers', field: 'email' } };
    for (const [request, sent] of [
      ['POST /api/mailCampaigns:create', body],
      ['POST /api/mailSuppressions:create', { accountId: 2, address: 'x@example.net' }],
      [`PATCH /api/mailCampaigns/${id}`, { name: 'y' }],
    ] as const)
      expect([400, 403]).toContain((await server.call(request, { as: 'eve', body: sent })).status);
    expect(await listEvents('campaign', 'eve')).toEqual([]);
    expect((await listEvents('campaign')).length).toBeGreaterThan(10);
    const [message] = Object.values(await fixture.messages(1));
    for (const [request, sent] of [
      ['POST /api/mailCampaignMessages:create', { campaignId: id, address: 'x@example.net' }],
      [`PATCH /api/mailCampaignMessages/${message?.id ?? 1}`, { status: 'queued' }],
    ] as const)
      expect((await server.call(request, { body: sent })).status).toBe(403);
  });

  test('the reply names each problem of a campaign', async () => {
    await fixture.server.play({
      name: 'an invalid campaign',
      as: 'mia',
      request: 'POST /api/mailCampaigns:create',
      body: { name: 'x', audience: { filter: 3 }, subject: '{{#if x}}', ratePerMinute: 0, domainRatePerMinute: 1.5 },
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: {
          details: Object.fromEntries(
            [
              'accountId',
              'audience.collection',
              'audience.field',
              'audience.filter',
              'subject',
              'ratePerMinute',
              'domainRatePerMinute',
            ].map((name) => [name, expect.any(String)]),
          ),
        },
      },
    });
    const id = await fixture.create('go', { subject: ' ' });
    await fixture.server.play({
      name: 'a campaign without a subject is not started',
      as: 'mia',
      request: `POST /api/mailCampaigns:start?filterByTk=${id}`,
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { subject: expect.any(String) } } },
    });
  });

  test('campaigns are deleted with their account', async () => {
    const { server } = fixture;
    const { database, mail } = server.running.applications.main;
    const tables = ['mailCampaigns', 'mailCampaignMessages', 'mailSuppressions'];
    const count = async (): Promise<number[]> => {
      const statements = tables.map((table) => ({
        text: `SELECT count(*) FROM "${table}" WHERE "accountId"=2`,
        values: [],
      }));
      return (await database.read(statements)).map((rows) => Number(rows[0]?.[0]));
    };
    expect(Math.min(...(await count()))).toBeGreaterThan(0);
    await server.data('POST /api/accounts:destroy?filterByTk=2');
    await mail.accountDeletion.wake();
    expect(await count()).toEqual([0, 0, 0]);
    expect((await server.call('GET /api/mailCampaigns:list', { as: 'mia' })).body.data).toEqual([]);
  });
});

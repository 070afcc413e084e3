/** Traces: what is sent to a collector. An unavailable collector does no harm. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, sqlite } from '../support/engines.ts';
import { importText } from '../support/import-server.ts';
import { DeliveryFixture } from '../support/mail-delivery-fixture.ts';
import { openConnections, startReaderServer } from '../support/reader-server.ts';
import { TestServer } from '../support/scenario.ts';
import { SmtpReceiver } from '../support/smtp-receiver.ts';
import { TraceReceiver } from '../support/trace-receiver.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const needle = 'needle-4711';
/** The trace header of a caller, with or without the flag "sampled". */
const traceparent = (trace: string, flags: '01' | '00' = '01'): Record<string, string> => ({
  traceparent: `00-${traceIdOf(trace)}-00f067aa0ba902b7-${flags}`,
});
/** A trace id that cannot be mistaken for a generated one. */
const traceIdOf = (trace: string): string => `feedfeedfeed${trace}`.padEnd(32, '0');

describeEngines('traces', (engine) => {
  let server: TestServer;
  let collector: TraceReceiver;
  let hooks: WebhookReceiver;
  let mails: SmtpReceiver;
  beforeAll(async () => {
    collector = await TraceReceiver.open();
    hooks = await WebhookReceiver.start();
    mails = await SmtpReceiver.open();
    server = await TestServer.start(engine, {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=team%20one',
        OTEL_SERVICE_NAME: 'orders',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OUTBOUND_ALLOW: '127.0.0.1',
        SMTP_URL: mails.url,
        SMTP_FROM: 'no-reply@example.com',
        PUBLIC_URL: 'https://data.example.com',
      },
    });
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', fields: [{ name: 'title', type: 'string' }] },
    });
  });
  afterAll(async () => {
    await server.stop();
    await Promise.all([collector.close(), hooks.stop(), mails.close()]);
  });

  test('a request continues the trace of its caller, and its statements are child spans', async () => {
    await server.data('POST /api/posts:create', { body: { title: needle }, headers: traceparent('a1') });
    const span = await collector.find(({ name, traceId }) => name === 'posts:create' && traceId === traceIdOf('a1'));
    expect(span).toMatchObject({ parentSpanId: '00f067aa0ba902b7', kind: 2, isError: false });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/api/posts:create',
      'http.response.status_code': 200,
      'tablinum.application': 'main',
      'tablinum.action': 'create',
      'tablinum.resource': 'posts',
    });
    expect(span.resource).toMatchObject({ 'service.name': 'orders', 'deployment.environment.name': 'test' });
    const inserts = collector.spans.filter(
      ({ traceId, attributes }) => traceId === span.traceId && /INSERT INTO/.test(attributes['db.query.text']),
    );
    expect(inserts.length).toBeGreaterThan(0);
    expect(inserts[0]!.attributes['db.system.name']).toBe(engine.name === 'sqlite' ? 'sqlite' : 'postgresql');
    expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-tenant': 'team one' } });
  });

  test('spans contain names and operators, and neither values nor query strings', async () => {
    const [{ id }] = await server.data('GET /api/posts:list');
    await server.data(`GET /api/posts:get/${id}`, { headers: traceparent('b0') });
    await server.data(`GET /api/posts:list?filter={"title":{"$includes":"${needle}"}}`, { headers: traceparent('b1') });
    await server.call(`GET /api/nothing-${needle}:list`, { headers: traceparent('b2') });
    await server.call('POST /api/posts:update?filterByTk=1', { body: { [needle]: 1 }, headers: traceparent('b3') });
    await server.data('GET /api/collections:list', { headers: traceparent('b4') });
    const got = await collector.find(({ kind, traceId }) => kind === 2 && traceId === traceIdOf('b0'));
    expect(got.attributes['http.route']).toBe('/api/posts:get/{key}');
    const listed = await collector.find(({ kind, traceId }) => kind === 2 && traceId === traceIdOf('b1'));
    expect(listed).toMatchObject({ name: 'posts:list', attributes: { 'http.route': '/api/posts:list' } });
    expect(collector.below(listed).map(({ name }) => name)).toContainEqual(expect.stringMatching(/^SELECT /));
    const refused = await collector.find(({ kind, traceId }) => kind === 2 && traceId === traceIdOf('b2'));
    expect(refused).toMatchObject({ name: 'list', attributes: { 'http.response.status_code': 404 } });
    expect(refused.attributes).not.toHaveProperty('tablinum.resource');
    await collector.find(({ kind, traceId }) => kind === 2 && traceId === traceIdOf('b3'));
    await collector.find(({ name, traceId }) => name === 'collections:list' && traceId === traceIdOf('b4'));
    expect(collector.text).not.toContain(needle);
    expect(collector.text).not.toMatch(/filter=|filterByTk/);
  });

  test('no spans are sent if the trace of the caller is not sampled, and an invalid header starts a new trace', async () => {
    await server.data('GET /api/posts:list', { headers: traceparent('c0', '00') });
    await server.data('GET /api/posts:list', { headers: { traceparent: needle } });
    await server.data('GET /api/posts:list', { headers: traceparent('c1') });
    await collector.find(({ kind, traceId }) => kind === 2 && traceId === traceIdOf('c1'));
    expect(collector.spans.filter(({ traceId }) => traceId === traceIdOf('c0'))).toEqual([]);
    expect(collector.spans.some(({ name, parentSpanId }) => name === 'posts:list' && parentSpanId === '')).toBe(true);
  });

  test('webhooks, e-mails and imports have spans of their own', async () => {
    await server.data('POST /api/webhooks:create', {
      body: { url: hooks.url(`/hook?token=${needle}`), events: ['posts.*'], role: 'admin' },
    });
    await server.data('POST /api/posts:create', { body: { title: needle } });
    const hook = await collector.find(({ name }) => name === 'send webhook');
    expect(hook).toMatchObject({ kind: 3, attributes: { 'http.response.status_code': 204 } });
    await server.call('POST /api/auth:lostPassword', { as: 'nobody', body: { email: 'root@example.com' } });
    expect(await collector.find(({ name }) => name === 'send e-mail')).toMatchObject({ kind: 3, isError: false });
    expect(collector.text).not.toContain('root@example.com');
    await importText(server, '', `title\n${`${needle}\n`.repeat(1001)}`, { to: 'posts' });
    const imported = await collector.find(({ name }) => name === 'import');
    expect(imported).toMatchObject({ kind: 1, parentSpanId: '', attributes: { 'tablinum.import': 1 } });
    expect(collector.text).not.toContain(needle);
  });
});

test('a sent message has a span without addresses', async () => {
  const collector = await TraceReceiver.open();
  const fixture = await DeliveryFixture.open(sqlite, {}, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  try {
    await fixture.deliver({ subject: needle }, 'sent');
    const sent = await collector.find(({ name }) => name === 'send e-mail');
    expect(sent.attributes).toEqual({ 'tablinum.recipients.accepted': 1, 'tablinum.recipients.rejected': 0 });
    expect(sent.kind).toBe(3);
    expect(collector.text).not.toMatch(/cora@|needle/);
  } finally {
    await fixture.stop();
    await collector.close();
  }
});

test('reader threads send spans of the requests that they answer, and of no others', async () => {
  const collector = await TraceReceiver.open();
  const server = await startReaderServer({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom` });
  try {
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields: [] } });
    await server.data('POST /api/posts:create', { body: {} });
    const connections = openConnections(server);
    const token = server.tokens.get('admin');
    for (const [index, connection] of connections.entries())
      for (const line of ['GET /api/posts:list', 'GET /api/posts:get/999'])
        await connection.send(line, { token, headers: traceparent(`d${index.toString(16).padStart(2, '0')}`) });
    for (const connection of connections) connection.close();
    expect(server.running.readers!.configured).toBe(2);
    const listOwn = () => collector.spans.filter(({ traceId }) => traceId.startsWith('feedfeedfeedd'));
    const countRequests = (): number => listOwn().filter(({ kind }) => kind === 2).length;
    const listOrphans = () => {
      const ids = new Set(collector.spans.map(({ spanId }) => spanId));
      return listOwn().filter(({ parentSpanId }) => !ids.has(parentSpanId) && parentSpanId !== '00f067aa0ba902b7');
    };
    // The main thread and the readers send their spans once a second.
    await expect.poll(countRequests).toBe(2 * connections.length);
    await expect.poll(listOrphans).toEqual([]);
    await server.running.readers!.stop();
    expect(countRequests()).toBe(2 * connections.length);
    expect(collector.requests[0]!.path).toBe('/custom');
  } finally {
    await server.stop();
    await collector.close();
  }
});

test('an unavailable collector neither slows nor stops the server', async () => {
  const collector = await TraceReceiver.open();
  const { url } = collector;
  await collector.close();
  const server = await TestServer.start(sqlite, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: url } });
  await server.data('POST /api/collections:create', { body: { name: 'posts', fields: [] } });
  for (let round = 0; round < 300; round += 1) await server.data('POST /api/posts:create', { body: {} });
  expect((await server.data('GET /api/posts:list?pageSize=1')).length).toBe(1);
  const startedAt = performance.now();
  await server.stop();
  expect(performance.now() - startedAt).toBeLessThan(4000);
});

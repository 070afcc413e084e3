/** Messages are sent, and files in a bucket are uploaded, while their application moves between nodes. Only `npm run test:citus` runs this. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { postgres, type Store, shareStore } from '../support/engines.ts';
import { fetchBytes, sendFiles } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { relayUser } from '../support/mail-delivery-fixture.ts';
import { S3Server } from '../support/s3-server.ts';
import { type Reply, TestServer } from '../support/scenario.ts';
import { type SmtpRelay, startSmtpRelay } from '../support/smtp-relay.ts';

const messages = 80;
const moves = 5;
const firstDueMilliseconds = 11_000;
const betweenMilliseconds = 150;

describe.skipIf(inject('clusterNodes') === null)('an application that is moved while it is used', () => {
  let store: Store;
  let s3: S3Server;
  let relay: SmtpRelay;
  let servers: TestServer[];
  const application = { as: 'inbox', headers: { 'x-app': 'inbox' } } as const;
  const pick = (): TestServer => servers[Math.floor(Math.random() * servers.length)] as TestServer;

  /** Repeats a request that is refused because of the move. */
  const send = async (work: (server: TestServer) => Promise<Reply>): Promise<Json> => {
    for (;;) {
      const reply = await work(pick());
      if (reply.status === 200) return reply.body.data;
      expect([reply.status, reply.headers.get('retry-after')], reply.text).toEqual([503, '1']);
      await pause(25);
    }
  };
  const call = (request: string, body?: object): Promise<Json> =>
    send((server) => server.call(request, { ...application, ...(body && { body }) }));

  beforeAll(async () => {
    s3 = await S3Server.start();
    relay = await startSmtpRelay({ users: { [relayUser.user]: relayUser.password } });
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-citus-mail-'));
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, relay.certificate.ca);
    const env = { ...s3.env(), MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1', MAIL_CA_FILE: caFile };
    store = await postgres.store(true);
    const first = await TestServer.start({ name: 'postgres', store: async () => store }, { env });
    servers = [first, await TestServer.start(shareStore(postgres, store), { env })];
    rmSync(folder, { recursive: true });
    await first.data('POST /api/applications:create', { body: { name: 'inbox' } });
    const { token } = await first.data('POST /api/applications:enter?filterByTk=inbox');
    for (const server of servers) server.tokens.set('inbox', token);
    const smtp = { host: '127.0.0.1', port: relay.port, security: 'starttls', user: relayUser.user };
    const account = { name: 'Shop', address: 'shop@example.com', smtp, smtpPassword: relayUser.password };
    await call('POST /api/accounts:create', account);
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
    await relay.stop();
    await s3.kill();
  });

  /** Moves the application to another node, and waits until the move has ended. */
  const move = async (): Promise<void> => {
    const [server] = servers as [TestServer];
    const nodes = (await server.data('GET /api/applications:nodes')) as Json[];
    const { node } = await server.data('GET /api/applications:get?filterByTk=inbox');
    const target = nodes.find((each) => each.isTarget && each.node !== node).node;
    const begun = await server.call('POST /api/applications:move?filterByTk=inbox', { body: { node: target } });
    expect(begun.status, begun.text).toBe(202);
    for (;;) {
      const record = await server.data('GET /api/applications:get?filterByTk=inbox');
      if (record.move.step === null) return expect(record.move).toMatchObject({ status: 'done', to: target });
      await pause(50);
    }
  };

  test('sends each message once, and loses no file', async () => {
    const start = Date.now() + firstDueMilliseconds;
    const queued = await Promise.all(
      Array.from({ length: messages }, (_, index) =>
        call('POST /api/emails:send', {
          account: 1,
          to: 'cora@example.net',
          subject: `Order ${index}`,
          text: 'Dear Cora,',
          sendAt: new Date(start + index * betweenMilliseconds).toISOString(),
        }),
      ),
    );
    let isMoving = true;
    const files: { readonly url: string; readonly content: string }[] = [];
    const upload = async (): Promise<void> => {
      for (let number = 0; isMoving; number += 1) {
        const content = `file ${number} `.repeat(2000);
        const [file] = await send((server) =>
          sendFiles(server, '/api/files:upload', {
            ...application,
            files: [{ name: `${number}.txt`, type: 'text/plain', content }],
          }),
        );
        files.push({ url: file.url, content });
        await pause(100);
      }
    };
    const uploading = upload();
    await pause(start - Date.now());
    for (let number = 0; number < moves; number += 1) await move();
    isMoving = false;
    await uploading;

    const ids = queued.map(({ id }) => id);
    const readStatuses = async (): Promise<string[]> => {
      const filter = encodeURIComponent(JSON.stringify({ id: { $in: ids } }));
      const emails = (await call(`GET /api/emails:list?filter=${filter}&pageSize=200`)) as Json[];
      return emails.map(({ deliveryStatus }) => deliveryStatus);
    };
    await expect
      .poll(async () => (await readStatuses()).filter((each) => each !== 'sent'), { timeout: 90_000, interval: 500 })
      .toEqual([]);
    expect(await readStatuses()).toHaveLength(messages);
    const subjects = relay.received.map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw.toString())?.[1]);
    expect(subjects.toSorted()).toEqual(ids.map((_, index) => `Order ${index}`).toSorted());

    expect(files.length).toBeGreaterThan(20);
    for (const { url, content } of files) {
      const reply = await fetchBytes(pick(), url, application);
      expect(await reply.text()).toBe(content);
    }
  }, 240_000);
});

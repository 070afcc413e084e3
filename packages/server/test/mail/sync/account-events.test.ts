import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { describeEngines } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import { SocketClient } from '../../support/socket-client.ts';
import { makeMessage, SyncWorld, waitFor } from '../../support/sync-world.ts';
import { fillInbox } from '../../support/synced-process.ts';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';

const messageCount = 260;
const denied = ['problem', 'imap', 'backfillTotal'];

/** Which users get events about the state of an account, and how often. */
describe.skipIf(!hasDovecot())('with a mail server', () => {
  describeEngines('events of accounts', (engine) => {
    let world: SyncWorld;
    let receiver: WebhookReceiver;
    const sockets = new Map<string, SocketClient>();

    beforeAll(async () => {
      receiver = await WebhookReceiver.start();
      world = await SyncWorld.open(engine, {
        env: { OUTBOUND_ALLOW: '127.0.0.1' },
        times: { retryMilliseconds: 1000 },
      });
      const { server, dovecot } = world;
      const members: number[] = [];
      const roles = {
        filtered: { filter: { name: { $ne: 'alice' } } },
        listed: { exceptFields: denied },
        without: null,
      };
      for (const [name, more] of Object.entries(roles)) {
        await server.data('POST /api/roles:create', { body: { name } });
        const permission = { role: name, resource: 'accounts', actions: ['list', 'get'], ...more };
        if (more) await server.data('POST /api/permissions:create', { body: permission });
        const user = { email: `${name}@example.com`, password: 'correct horse', roles: [name] };
        members.push((await server.data('POST /api/users:create', { body: user })).id);
        server.tokens.set(name, await server.signIn(user.email, user.password));
      }
      const stranger = { email: 'eve@example.com', password: 'correct horse', roles: ['editor'] };
      await server.data('POST /api/users:create', { body: stranger });
      server.tokens.set('eve', await server.signIn(stranger.email, stranger.password));
      for (const role of ['viewer', 'editor', 'filtered', 'listed', 'admin']) {
        const url = receiver.url(`/${role}`);
        await server.data('POST /api/webhooks:create', { body: { url, events: ['accounts.*'], role } });
      }
      for (const name of ['admin', 'listed', 'filtered', 'eve']) {
        const socket = await SocketClient.as(server, name);
        await socket.subscribe('a', 'accounts', { values: true });
        sockets.set(name, socket);
      }
      await world.deliver('first of all');
      const raws = Array.from({ length: messageCount }, (_, index) =>
        makeMessage(`message ${index}`, 'Text', `<${index}@events.test>`),
      );
      fillInbox(dovecot, 'alice', raws);
      await world.createAccount(undefined, { members });
      await world.untilLive(30_000);
    });
    afterAll(async () => {
      for (const socket of sockets.values()) socket.socket.terminate();
      await world?.close();
      await receiver?.stop();
    });

    const listChanges = async (as: string): Promise<Json[]> =>
      (await world.server.call('GET /api/changes:list?resource=accounts&pageSize=1000', { as })).body.data ?? [];
    const hear = (who: string): Json[] => sockets.get(who)!.eventsNow('a');
    const nameOf = ({ name, type }: Json): string => name ?? type;

    test('members and administrators get an event for each status and for the progress', async () => {
      for (const who of ['admin', 'listed']) {
        await waitFor(() => hear(who).some((event) => JSON.stringify(event).includes('"live"')), 'the last status');
        const names = hear(who).map(nameOf);
        expect(names).toEqual(expect.arrayContaining(['accounts.status', 'accounts.progress']));
        const listed = (await listChanges(who)).map(nameOf);
        expect(listed).toEqual(expect.arrayContaining(['accounts.status', 'accounts.progress']));
      }
    });

    test('a field that the role may not read is neither shown nor named', async () => {
      const all = JSON.stringify([hear('listed'), await listChanges('listed')]);
      for (const name of denied) expect(all).not.toContain(`"${name}"`);
      expect(all).toContain('"backfillDone"');
    });

    test('roles whose filter excludes the account, other users, roles without the permission, and webhooks get no events', async () => {
      for (const who of ['filtered', 'eve']) expect([who, hear(who)]).toEqual([who, []]);
      for (const who of ['filtered', 'eve', 'without']) expect([who, await listChanges(who)]).toEqual([who, []]);
      // The control: administrators may see every account, so their webhook gets the event.
      await receiver.messages('/admin', 3);
      for (const role of ['viewer', 'editor', 'filtered', 'listed'])
        expect([role, await receiver.messages(`/${role}`, 0)]).toEqual([role, []]);
    });

    test('progress is reported about once a second, and at the end with the total', async () => {
      const events = (await listChanges('admin')).filter((event) => nameOf(event) === 'accounts.progress');
      const times = events.map(({ at, createdAt, timestamp }) => Date.parse(at ?? createdAt ?? timestamp));
      const seconds = (Math.max(...times) - Math.min(...times)) / 1000;
      // The first report and the last one are sent without delay.
      expect(events.length).toBeLessThanOrEqual(Math.floor(seconds) + 2);
      expect(await world.readAccount()).toMatchObject({
        backfillDone: messageCount + 1,
        backfillTotal: messageCount + 1,
      });
    });

    test('requesting synchronisation repeatedly writes no events for a working account', async () => {
      const before = (await listChanges('admin')).length;
      for (let count = 0; count < 40; count += 1)
        await world.server.data(`POST /api/accounts:sync?filterByTk=${world.account}`, { body: {} });
      expect((await listChanges('admin')).length - before).toBeLessThanOrEqual(2);
    });

    test('requesting synchronisation repeatedly for an account that fails does not sign in repeatedly', async () => {
      const imap = { host: '127.0.0.1', port: 9, security: 'none' };
      const body = { imap, password: 'x' };
      await world.server.data(`PATCH /api/accounts/${world.account}`, { body });
      await waitFor(async () => (await world.readAccount()).status === 'backoff', 'the failure', 20_000);
      const before = (await listChanges('admin')).length;
      const begun = performance.now();
      for (let count = 0; count < 60; count += 1)
        await world.server.data(`POST /api/accounts:sync?filterByTk=${world.account}`, { body: {} });
      const seconds = (performance.now() - begun) / 1000;
      expect((await listChanges('admin')).length - before).toBeLessThanOrEqual(3 + seconds);
    });
  });
});

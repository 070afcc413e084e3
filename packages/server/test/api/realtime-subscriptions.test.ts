import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { formatEvents, RealtimeFixture } from '../support/realtime-fixture.ts';
import type { SocketClient } from '../support/socket-client.ts';

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

describeEngines('realtime', (engine) => {
  const live = RealtimeFixture.forSuite(engine);

  describe('events', () => {
    test('are sent to all who may see them after they are durable, with the record on request', async () => {
      const [admin, clerk] = [await live.client(), await live.client('clerk')];
      const { cursor } = await admin.subscribe('a', 'posts');
      await admin.subscribe('v', 'posts', { values: true });
      await clerk.subscribe('a', 'posts', { values: true });
      const [first, second] = await live.createPost([
        { title: 'open', open: true, secret: 'x' },
        { title: 'closed', open: false },
      ] as object);
      const told = await admin.events('a', 2);
      expect(formatEvents(told)).toEqual([`posts.created ${first.id}`, `posts.created ${second.id}`]);
      expect(told[0]).not.toHaveProperty('record');
      expect((await admin.events('v', 2))[0].record).toEqual(
        await live.server.data(`GET /api/posts:get?filterByTk=${first.id}`),
      );
      const [seen] = await clerk.events('a', 1);
      expect(seen.changed).toEqual(['title', 'open']);
      expect(seen.record).toEqual(await live.server.data(`GET /api/posts:get?filterByTk=${first.id}`, { as: 'clerk' }));
      expect(JSON.stringify(seen)).not.toContain('secret');
      const again = await live.client();
      await again.subscribe('again', 'posts', { since: cursor });
      expect(formatEvents(await again.events('again', 2))).toEqual(formatEvents(told));
    });

    test('of records that leave the row filter only contain the key, if the record was sent before', async () => {
      const clerk = await live.client('clerk');
      await clerk.subscribe('a', 'posts', { values: true });
      const known = await live.createPost({ title: 'known', open: true });
      const unknown = await live.createPost({ title: 'unknown', open: false });
      await clerk.events('a', 1);
      await live.updatePost(unknown.id, { title: 'still' });
      await live.server.data(`POST /api/posts:destroy?filterByTk=${unknown.id}`);
      await live.updatePost(known.id, { open: false });
      await live.updatePost(known.id, { title: 'out of sight' });
      const back = await live.createPost({ title: 'last', open: true });
      const told = await clerk.events('a', 3);
      expect(formatEvents(told)).toEqual([
        `posts.created ${known.id}`,
        `posts.left ${known.id}`,
        `posts.created ${back.id}`,
      ]);
      expect(told[1]).toEqual({
        cursor: expect.any(String),
        at: expect.any(String),
        name: 'posts.left',
        resource: 'posts',
        tk: String(known.id),
        actor: null,
        requestId: null,
        changed: [],
      });
    });

    test('of records that leave the filter are sent for every record that the role may see', async () => {
      const admin = await live.client();
      const before = await live.createPost({ title: 'before', open: true });
      await pause(400);
      await admin.subscribe('a', 'posts', { filter: { open: true } });
      await live.updatePost(before.id, { open: false });
      // The server tests the record as it is when it reads the event: on a busy machine, it could be open again by then.
      await admin.until(() => formatEvents(admin.eventsNow('a')).includes(`posts.left ${before.id}`) || undefined);
      await live.updatePost(before.id, { title: 'closed' });
      await live.createPost({ title: 'never', open: false });
      await live.updatePost(before.id, { open: true });
      await live.server.data(`POST /api/posts:destroy?filterByTk=${before.id}`);
      const last = await live.createPost({ title: 'last', open: true });
      const told = await admin.until(() => {
        const events = admin.eventsNow('a');
        return events.at(-1)?.tk === String(last.id) ? events : undefined;
      });
      expect(formatEvents(told).filter((name) => name === `posts.left ${before.id}`).length).toBeGreaterThan(0);
      expect(formatEvents(told)).toContain(`posts.destroyed ${before.id}`);
      expect(formatEvents(told).at(-1)).toBe(`posts.created ${last.id}`);
      expect(told).not.toContainEqual(expect.objectContaining({ title: 'never' }));
    });

    test('of definitions, roles and published names are sent to those who may read them', async () => {
      const [admin, clerk] = [await live.client(), await live.client('clerk')];
      await admin.subscribe('all', '*');
      await clerk.subscribe('all', '*');
      await live.server.data('POST /api/collections:create', { body: { name: 'live' } });
      await live.server.data('POST /api/changes:publish', { body: { name: 'campaign.sent', payload: { n: 1 } } });
      const post = await live.createPost({ title: 'x', open: true });
      const told = await admin.until(() => {
        const events = admin.eventsNow('all');
        return formatEvents(events).includes(`posts.created ${post.id}`) ? events : undefined;
      });
      expect(formatEvents(told)).toEqual([
        'collections.created live',
        'campaign.sent null',
        `posts.created ${post.id}`,
      ]);
      expect(told[1].payload).toEqual({ n: 1 });
      expect(formatEvents(await clerk.events('all', 1))).toEqual([`posts.created ${post.id}`]);
      await live.server.data('POST /api/collections:destroy?filterByTk=live');
    });

    test('of unknown resources are refused, like others for callers without a grant', async () => {
      const [admin, clerk] = [await live.client(), await live.client('clerk')];
      for (const [client, resource, code] of [
        [admin, 'nowhere', 'COLLECTION_UNKNOWN'],
        [clerk, 'nowhere', 'NO_PERMISSION'],
        [clerk, 'users', 'NO_PERMISSION'],
      ] as const) {
        client.send({ type: 'subscribe', id: resource, resource });
        expect(await client.next(({ id }) => id === resource)).toMatchObject({ type: 'error', code });
      }
    });

    test('end with unsubscribe', async () => {
      const admin = await live.client();
      await admin.subscribe('a', 'posts');
      await admin.subscribe('b', 'posts');
      admin.send({ type: 'unsubscribe', id: 'a' });
      expect(await admin.next(({ type }) => type === 'unsubscribed')).toEqual({ type: 'unsubscribed', id: 'a' });
      await live.createPost({ title: 'x' });
      await admin.events('b', 1);
      expect(admin.eventsNow('a')).toEqual([]);
    });

    test('after a cursor of another log start with resync and continue from there', async () => {
      const admin = await live.client();
      const since = Buffer.from('00000000.0.7.0badcafe').toString('base64url');
      const { cursor } = await admin.subscribe('a', 'posts', { since });
      expect(await admin.next(({ type }) => type === 'resync')).toEqual({ type: 'resync', id: 'a', cursor });
      const post = await live.createPost({ title: 'x' });
      expect(formatEvents(await admin.events('a', 1))).toEqual([`posts.created ${post.id}`]);
    });
  });

  describe('changes of permissions', () => {
    const within = async (milliseconds: number, work: () => Promise<unknown>): Promise<void> => {
      const begun = performance.now();
      await work();
      expect(performance.now() - begun).toBeLessThan(milliseconds);
    };
    const keyed = async (): Promise<{ id: number; one: SocketClient }> => {
      const key = await live.server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
      const one = await live.client(key.token);
      await one.subscribe('a', 'posts');
      return { id: key.id, one };
    };

    test('a destroyed API key is disconnected within a second', async () => {
      const { id, one } = await keyed();
      await live.server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
      await within(25_000, async () => expect(await one.end()).toBe(4401));
    });

    test('signing out closes the sockets of the session', async () => {
      const token = await live.server.signIn('root@example.com', 'correct horse battery');
      const one = await live.client(token);
      await live.server.data('POST /api/auth:signOut', { as: token });
      await within(25_000, async () => expect(await one.end()).toBe(4401));
    });

    test('a suspended user is disconnected', async () => {
      const user = await live.server.data('POST /api/users:create', {
        body: { email: 'sue@example.com', password: 'a long password', roles: ['clerk'] },
      });
      const one = await live.client(await live.server.signIn('sue@example.com', 'a long password'));
      await live.server.data(`POST /api/users:update?filterByTk=${user.id}`, { body: { status: 'suspended' } });
      await within(25_000, async () => expect(await one.end()).toBe(4401));
    });

    test('an API key whose creator loses the role is disconnected within a second', async () => {
      const user = await live.server.data('POST /api/users:create', {
        body: { email: 'max@example.com', password: 'a long password', roles: ['clerk'] },
      });
      const as = await live.server.signIn('max@example.com', 'a long password');
      const key = await live.server.data('POST /api/apiKeys:create', { as, body: { role: 'clerk' } });
      const one = await live.client(key.token);
      await one.subscribe('a', 'posts');
      await live.server.data(`POST /api/users:update?filterByTk=${user.id}`, { body: { roles: [] } });
      await within(25_000, async () => expect(await one.end()).toBe(4401));
    });

    test('a changed row filter sends resync, and a removed permission ends the subscription', async () => {
      const { one } = await keyed();
      const [permission] = await live.server.data(
        'GET /api/permissions:list?filter={"role":"clerk","resource":"posts"}',
      );
      await live.server.data(`POST /api/permissions:update?filterByTk=${permission.id}`, {
        body: { filter: { open: false } },
      });
      expect(await one.next(({ type }) => type === 'resync')).toMatchObject({ id: 'a', cursor: expect.any(String) });
      await live.createPost({ title: 'open', open: true });
      const closed = await live.createPost({ title: 'closed', open: false });
      expect(formatEvents(await one.events('a', 1))).toEqual([`posts.created ${closed.id}`]);
      await live.server.data(`POST /api/permissions:destroy?filterByTk=${permission.id}`);
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'NO_PERMISSION' });
      await live.createPost({ title: 'unseen', open: false });
      await pause(400);
      expect(one.eventsNow('a')).toHaveLength(1);
      expect(one.closed).toBeNull();
      await live.server.data('POST /api/permissions:create', {
        body: {
          role: 'clerk',
          resource: 'posts',
          actions: ['list', 'get'],
          filter: { open: true },
          exceptFields: ['secret'],
        },
      });
    });

    test('destroying a field that the filter uses ends the subscription', async () => {
      const one = await live.client();
      await live.server.data('POST /api/fields:create', {
        body: { collectionName: 'posts', name: 'gone', type: 'string' },
      });
      await one.subscribe('a', 'posts', { filter: { gone: null } });
      await live.server.data('POST /api/fields:destroy', { body: { collectionName: 'posts', name: 'gone' } });
      expect(await one.next(({ type }) => type === 'error')).toMatchObject({ id: 'a', code: 'FIELD_UNKNOWN' });
    });
  });
});

import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { RealtimeFixture } from '../support/realtime-fixture.ts';

describeEngines('realtime', (engine) => {
  const live = RealtimeFixture.forSuite(engine);

  describe('Server-Sent Events', () => {
    test('have the same events and continue after the last one', async () => {
      const stream = await live.listen('resource=posts&filter={"open":true}&values=true');
      expect(stream.reply.headers.get('content-type')).toContain('text/event-stream');
      expect(await stream.next()).toMatchObject({ event: 'subscribed', data: { cursor: expect.any(String) } });
      const post = await live.createPost({ title: 'streamed', open: true });
      const told = await stream.next();
      expect(told).toMatchObject({ event: 'event', data: { name: 'posts.created', tk: String(post.id) } });
      expect(told.data.record.title).toBe('streamed');
      expect(told.id).toBe(told.data.cursor);
      await stream.cancel();
      const later = await live.createPost({ title: 'later', open: true });
      const again = await live.listen('resource=posts', 'admin', { 'last-event-id': told.id });
      expect(await again.next()).toMatchObject({ event: 'subscribed' });
      expect((await again.next()).data.tk).toBe(String(later.id));
      await again.cancel();
    });

    test('are refused like a get', async () => {
      for (const [query, as, status] of [
        ['resource=secrets', 'clerk', 403],
        ['resource=posts', 'tbk_nothing', 401],
        ['resource=posts&since=abc', 'admin', 400],
        ['resource=posts&more=1', 'admin', 400],
        ['', 'admin', 400],
        ['resource=posts&filter={', 'admin', 400],
      ] as const) {
        const { reply } = await live.listen(query, as);
        expect([query, reply.status]).toEqual([query, status]);
        expect(Object.keys((await reply.json()) as object)).toEqual(
          expect.arrayContaining(['error', 'message', 'code']),
        );
      }
    });

    test('end when the API key is destroyed', async () => {
      const key = await live.server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
      const stream = await live.listen('resource=posts', key.token);
      await stream.next();
      await live.server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
      expect(await stream.next()).toMatchObject({ event: 'error', data: { error: 'Unauthorized' } });
      expect(await stream.next()).toBeNull();
    });

    test('of public resources need no credential', async () => {
      const { reply } = await live.listen('resource=posts', 'nobody');
      expect(reply.status).toBe(401);
      const permission = await live.server.data('POST /api/permissions:create', {
        body: { role: 'public', resource: 'posts', actions: ['get'], filter: { open: true } },
      });
      const stream = await live.listen('resource=posts', 'nobody');
      await stream.next();
      await live.createPost({ title: 'hidden', open: false });
      const post = await live.createPost({ title: 'shown', open: true });
      expect((await stream.next()).data.tk).toBe(String(post.id));
      await live.server.data(`POST /api/permissions:destroy?filterByTk=${permission.id}`);
      expect(await stream.next()).toMatchObject({ event: 'error' });
      await stream.cancel();
    });
  });
});

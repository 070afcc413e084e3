/**
 * Fields of e-mails and conversations that refer to records of other collections, while the mail server changes the
 * same e-mails.
 */
import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { mail, useTwoSides } from '../support/two-sides.ts';

/** E-mails, each linked to one of the projects. */
const messages = 40;
const projects = 8;

describeEngines('links of e-mails to other records', (engine) => {
  const sides = useTwoSides(engine);

  test('links are set to null when their records are deleted, and stay null, while the mail server reports changes of the same e-mails', async () => {
    const { server, connect, list } = sides;
    const account = await connect();
    for (let index = 0; index < messages; index += 1) sides.fake.append('INBOX', mail(`linked ${index}`));
    await sides.sync.run();
    const project = { type: 'belongsTo', target: 'projects' };
    await server.data('POST /api/collections:create', { body: { name: 'projects' } });
    for (const collectionName of ['emails', 'conversations'])
      await server.data('POST /api/fields:create', { body: { ...project, collectionName, name: 'project' } });
    const ids = (
      (await server.data('POST /api/projects:create', { body: Array(projects).fill({}) })) as never as Json[]
    ).map(({ id }) => id as number);
    const linked = await list(account, `&pageSize=${messages}`);
    for (const [index, { id, conversationId }] of linked.entries()) {
      const body = { projectId: ids[index % projects] };
      await server.data(`PATCH /api/emails/${id}`, { as: 'ann', body });
      await server.data(`PATCH /api/conversations/${conversationId}`, { as: 'ann', body });
    }

    for (const [round, id] of ids.entries()) {
      for (const uid of sides.fake.get('INBOX').messages.keys()) {
        sides.fake.setFlag('INBOX', uid, '\\Seen', round % 2 === 0);
        sides.fake.setFlag('INBOX', uid, '\\Flagged', uid % 2 === round % 2);
      }
      // In each round, the project is destroyed at another moment of the synchronisation.
      const destroying = new Promise((resolve) => setTimeout(resolve, 4 * round)).then(() =>
        server.data(`POST /api/projects:destroy?filterByTk=${id}`),
      );
      await Promise.all([sides.sync.run(), destroying]);
    }
    const flags = sides.fake.get('INBOX').messages;
    const after = await list(account, `&pageSize=${messages}&fields=id,subject,projectId,read,starred,conversationId`);
    const seen = [...flags.values()].map(({ raw, flags: set }) => ({
      subject: /^Subject: (.*)$/m.exec(String(raw))?.[1]?.trim(),
      read: set.has('\\Seen'),
      starred: set.has('\\Flagged'),
      projectId: null,
    }));
    const shown = after.map(({ subject, read, starred, projectId }) => ({ subject, read, starred, projectId }));
    expect(shown).toEqual(expect.arrayContaining(seen));
    expect(shown.length).toBe(messages);
    for (const { conversationId } of after)
      expect(
        await server.data(`GET /api/conversations/${conversationId}?fields=id,projectId`, { as: 'ann' }),
      ).toMatchObject({ projectId: null });
  });
});

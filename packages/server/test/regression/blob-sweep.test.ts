import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { unreferencedGraceMilliseconds } from '../../src/base/blob-store.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';

const attached = (id: string, content: string): string =>
  makeRawMail({ subject: id, id: `${id}@example.net`, attachments: [{ name: 'a.txt', type: 'text/plain', content }] });

describeEngines('blobs without references', (engine) => {
  test('are removed after a day, and all others stay', async () => {
    const server = await startMailAccountServer(engine);
    const { blobs } = server.running.applications.main.mail;
    let days = 0;
    const sweep = (): Promise<void> => {
      days += 2;
      return server.running.applications.main.mail.sweep(Date.now() + days * unreferencedGraceMilliseconds);
    };
    const [one, shared] = ['only here', 'in both'].map((text) => hash('sha256', text));
    await upload(server, 'ann', 1, attached('first', 'only here'));
    await upload(server, 'ann', 1, attached('second', 'in both'));
    await upload(server, 'ann', 1, attached('third', 'in both'));
    const draft = {
      account: 1,
      subject: 'Draft',
      attachments: [{ filename: 'd.txt', content: Buffer.from('drafted').toString('base64') }],
    };
    await server.data('POST /api/emails:saveDraft', { as: 'ann', body: draft });
    const waiting = {
      ...draft,
      to: 'cora@example.net',
      attachments: [{ filename: 'w.txt', content: Buffer.from('waiting').toString('base64') }],
    };
    const sent = await server.data('POST /api/emails:send', { as: 'ann', body: waiting });
    const stray = Buffer.from('an import that was cut short');
    await blobs.put(1, [{ sha256: hash('sha256', stray), bytes: stray }]);
    const before = await blobs.findStoredBefore(1, Date.now() + 1000);

    await server.running.applications.main.mail.sweep(Date.now()); // nothing is a day old
    expect(await blobs.findStoredBefore(1, Date.now() + 1000)).toHaveLength(before.length);
    await sweep();
    expect(await blobs.get(1, hash('sha256', stray))).toBeNull();
    expect(await blobs.findStoredBefore(1, Date.now() + 1000)).toHaveLength(before.length - 1);

    const listed: { id: number; subject: string }[] = await server.data('GET /api/emails', { as: 'ann' });
    const idOf = (subject: string): number => listed.find((each) => each.subject === subject)!.id;
    for (const subject of ['first', 'second'])
      for (let time = 0; time < 2; time += 1) await server.call(`DELETE /api/emails/${idOf(subject)}`, { as: 'ann' });
    await sweep();
    expect(await blobs.get(1, one!)).toBeNull();
    expect(String(await blobs.get(1, shared!))).toBe('in both');
    expect(String(await blobs.get(1, hash('sha256', 'drafted')))).toBe('drafted');

    // A cancelled message becomes a draft again, with its files.
    expect(String(await blobs.get(1, hash('sha256', 'waiting')))).toBe('waiting');
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
    const again = { id: sent.id, subject: 'Once more' };
    expect((await server.data('POST /api/emails:saveDraft', { as: 'ann', body: again })).attachments).toMatchObject([
      { filename: 'w.txt' },
    ]);

    // A blob that was just stored again is kept, because it may soon be referenced.
    await blobs.put(1, [{ sha256: hash('sha256', stray), bytes: stray }]);
    await blobs.remove(1, [hash('sha256', stray)], Date.now() - 1000);
    expect(await blobs.get(1, hash('sha256', stray))).toEqual(stray);

    await server.data('POST /api/accounts:destroy?filterByTk=1', { as: 'ann' });
    await server.running.applications.main.mail.accountDeletion.wake();
    expect(await blobs.findStoredBefore(1, Date.now() + 1000)).toEqual([]);
    await server.stop();
  });
});

import { generateDemoMail } from '../../../server/src/mail/demo/demo-mail.ts';
import { writeMbox } from '../../../server/src/mail/files/mbox-writer.ts';
import type { Engine } from '../../../server/test/support/engines.ts';
import { startMailAccountServer, upload } from '../../../server/test/support/mail-account-server.ts';
import { makeRawMail } from '../../../server/test/support/raw-mail.ts';
import type { TestServer } from '../../../server/test/support/scenario.ts';

const letter = `<style>.big { color: #aa0000 }</style><p class="big" style="background:#fff">Spring sale</p>
<img src="https://pixels.example/one.gif"><script>document.title = 'taken'</script><blockquote>What was said before</blockquote>`;

/** Delivers a message to ann's inbox. */
export const deliverToInbox = (server: TestServer, mail: Parameters<typeof makeRawMail>[0]) =>
  upload(server, 'ann', 1, makeRawMail(mail));

/** Ann's mail account of a shop: 150 messages, one from a stranger in HTML, and one to be answered. */
export async function startShopInboxServer(engine: Engine): Promise<TestServer> {
  const server = await startMailAccountServer(engine);
  const mails = generateDemoMail({
    seed: 7,
    count: 150,
    until: new Date('2026-11-01T12:00:00Z'),
    inbox: { name: 'Shop', address: 'shop@example.com' },
  });
  for (const box of ['INBOX', 'Sent']) {
    const those = mails.filter(({ mailbox }) => mailbox === box);
    await upload(server, 'ann', 1, writeMbox(those), 'application/mbox', `&mailbox=${box}`);
  }
  await deliverToInbox(server, {
    subject: 'Spring sale',
    from: 'Offers <offers@shop.example>',
    id: 's1@shop.example',
    html: letter,
  });
  await deliverToInbox(server, {
    subject: 'Broken turntable',
    from: 'Cora Lind <cora@example.net>',
    id: 't1@example.net',
    text: 'The tonearm is loose.\n\nOn Monday Shop wrote:\n> Enjoy the record.',
  });
  await server.data('POST /api/permissions:create', {
    body: { role: 'editor', resource: 'campaign', actions: ['publish', 'get', 'list'] },
  });
  return server;
}

import type { Engine } from './engines.ts';
import { startMailAccountServer, upload } from './mail-account-server.ts';
import { makeRawMail } from './raw-mail.ts';
import type { Reply, TestServer } from './scenario.ts';

/** The smallest picture, in base64. */
export const pngBase64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A server on which ann has a message of a conversation, with an attached file. */
export interface MailComposeServer {
  readonly server: TestServer;
  /** The key of the message. */
  readonly emailId: number;
  /** The key of its file. */
  readonly attachmentId: number;
}

export async function startMailComposeServer(engine: Engine): Promise<MailComposeServer> {
  const server = await startMailAccountServer(engine);
  await server.data('POST /api/accounts:create', { as: 'bob', body: { name: 'Bob', address: 'bob@example.com' } });
  const attachments = [{ name: 'needle.png', type: 'image/png', content: Buffer.from(pngBase64, 'base64') }];
  const mail = {
    subject: 'AW: Re: Needle',
    from: 'Cora <cora@example.net>',
    cc: 'Dan <dan@example.net>, shop@example.com',
  };
  const thread = { id: 'n2@example.net', references: ['n0@example.net', 'n1@example.net'] };
  await upload(server, 'ann', 1, makeRawMail({ ...mail, ...thread, text: 'Which one fits?\n> old', attachments }));
  const [{ id: letter }] = await server.data('GET /api/emails', { as: 'ann' });
  const [{ id: attached }] = await server.data('GET /api/attachments', { as: 'ann' });
  return { server, emailId: letter, attachmentId: attached };
}

export const saveDraft = (server: TestServer, body: object, as = 'ann', headers = {}): Promise<Reply> =>
  server.call('POST /api/emails:saveDraft', { as, body, headers });

/** Messages in the outbox: e-mail, status, sender, recipients. */
export async function readOutbox(server: TestServer): Promise<unknown[][]> {
  const { database } = server.running.applications.main;
  const text = 'SELECT "emailId",status,sender,recipients FROM "mailOutbox" ORDER BY id';
  const [rows] = await database.read([{ text, values: [] }]);
  return rows!.map(([id, status, sender, list]) => [
    Number(id),
    status,
    sender,
    typeof list === 'string' ? JSON.parse(list) : list,
  ]);
}

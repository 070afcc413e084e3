import type { TestServer } from './scenario.ts';

/** Parameters of an arrival. */
export interface ArrivalOptions {
  readonly receivedAt?: string;
  /** The account; the first one of ann unless a test says otherwise. */
  readonly account?: { readonly id: number; readonly address: string };
  /** Who creates its inbox. */
  readonly as?: string;
}

/**
 * Stores a raw message like a server that has just received it, without applying rules yet.
 *
 * @returns the key of the e-mail.
 */
export async function storeArrival(server: TestServer, raw: string, more: ArrivalOptions = {}): Promise<number> {
  const { mail } = server.running.applications.main;
  const { account = { id: 1, address: 'shop@example.com' }, as = 'ann' } = more;
  const inbox = await findInbox(server, account.id, as);
  const flags = { read: false, starred: false, answered: false, draft: false };
  const incoming = {
    raw: new TextEncoder().encode(raw),
    mailbox: { id: inbox, folder: 'inbox' },
    receivedAt: more.receivedAt ?? new Date().toISOString(),
    flags,
    isNew: true,
  };
  const [result] = await mail.ingest.store(account, [incoming], { actor: null, requestId: null });
  if (result?.emailId == null) throw new Error(`not stored: ${result?.reason}`);
  return result.emailId;
}

/** Delivers a message and waits until its rules are applied. @returns the key of the e-mail. */
export async function deliverRawMail(server: TestServer, raw: string, more: ArrivalOptions = {}): Promise<number> {
  const id = await storeArrival(server, raw, more);
  await server.running.applications.main.mail.automation.wake();
  return id;
}

async function findInbox(server: TestServer, accountId: number, as: string): Promise<number> {
  const mailboxes = await server.data(`GET /api/mailboxes:list?filter={"accountId":${accountId}}`, { as });
  const inbox = mailboxes.find((each: { role: string }) => each.role === 'inbox');
  if (inbox) return inbox.id;
  const body = { accountId, path: 'INBOX', role: 'inbox' };
  return (await server.data('POST /api/mailboxes:create', { as, body })).id;
}

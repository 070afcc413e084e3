import { afterAll, beforeAll } from 'vitest';
import type { Application } from '../../src/applications/application.ts';
import { anonymous } from '../../src/identity/authenticator.ts';
import type { ParsedMail } from '../../src/mail/parse/parsed-mail.ts';
import { MailIngest } from '../../src/mail/store/ingest.ts';
import { resolveMailbox } from '../../src/mail/store/resolve-mailbox.ts';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { startMailAccountServer } from './mail-account-server.ts';
import type { TestServer } from './scenario.ts';
import { discardingBlobStore, fakeParser } from './stored-mail-copies.ts';

/** The address of every account that {@link ConversationFixture.storeMails} creates. */
export const ownAddress = 'shop@example.com';
const flags = { read: false, starred: false, answered: false, draft: false };

/** A parsed message with these members; all others are empty. */
export function makeParsedMail(members: Partial<ParsedMail>): ParsedMail {
  return {
    sha256: '',
    size: 1,
    messageId: null,
    inReplyTo: [],
    references: [],
    subject: '',
    from: [],
    to: [],
    cc: [],
    bcc: [],
    replyTo: [],
    sentAt: null,
    tracedAt: null,
    snippet: '',
    text: '',
    bodyWords: [],
    html: null,
    headers: [],
    attachments: [],
    bulk: false,
    authentication: null,
    warnings: [],
    bodyState: 'complete',
    ...members,
  };
}

/** The message `number`, with its own Message-ID and without references. */
export function makeSubjectMail(number: number, subject: string, from: string, to: readonly string[]): ParsedMail {
  return makeParsedMail({
    sha256: String(number),
    messageId: `m${100 + number}@example.net`,
    subject,
    from: [{ name: '', address: from }],
    to: to.map((address) => ({ name: '', address })),
  });
}

/** A message that is to be stored. */
export interface IncomingMail {
  readonly mail: ParsedMail;
  readonly receivedAt: string;
  readonly mailbox?: 'INBOX' | 'Sent';
}

/** An account, and the keys of its e-mails by their index in the list of stored messages. */
export interface StoredAccount {
  readonly id: number;
  readonly emailKeys: ReadonlyMap<number, number>;
}

/** How {@link ConversationFixture.storeMails} stores messages. */
export interface StoreOptions {
  /** The indexes of the messages in the order in which they are stored. */
  readonly order: readonly number[];
  /** The number of messages that are stored together. */
  readonly batchSize: number;
  readonly aliases?: readonly string[];
}

/** Stores parsed messages in accounts of their own, and reads their conversations. For the tests of one suite. */
export class ConversationFixture {
  server!: TestServer;
  readonly #mailByBytes = new WeakMap<Uint8Array, ParsedMail>();

  /** Starts the server before the tests of the suite, and stops it after them. */
  static forSuite(engine: Engine): ConversationFixture {
    const fixture = new ConversationFixture();
    beforeAll(async () => {
      fixture.server = await startMailAccountServer(engine);
    });
    afterAll(() => fixture.server.stop());
    return fixture;
  }

  async storeMails(all: readonly IncomingMail[], { order, batchSize, aliases }: StoreOptions): Promise<StoredAccount> {
    const { main } = this.server.running.applications;
    const body = { address: ownAddress, ...(aliases && { aliases }) };
    const { id } = await this.server.data('POST /api/accounts:create', { as: 'ann', body });
    const context = main.recordContext(anonymous, null);
    const mailboxes = {
      INBOX: await resolveMailbox(context, id, 'INBOX'),
      Sent: await resolveMailbox(context, id, 'Sent'),
    };
    const ingest = this.createIngest(main);
    const emailKeys = new Map<number, number>();
    for (let start = 0; start < order.length; start += batchSize) {
      const numbers = order.slice(start, start + batchSize);
      const incoming = numbers.map((number) => {
        const { mail, receivedAt, mailbox = 'INBOX' } = all[number]!;
        return { raw: this.makeBytes(mail), mailbox: mailboxes[mailbox], flags, receivedAt };
      });
      const results = await ingest.store({ id, address: ownAddress }, incoming, { actor: null, requestId: null });
      for (const [index, { emailId }] of results.entries()) emailKeys.set(numbers[index]!, emailId!);
    }
    return { id, emailKeys };
  }

  /** Bytes that the parser of {@link createIngest} parses to this message. */
  makeBytes(mail: ParsedMail): Uint8Array {
    const raw = Buffer.from(`message ${mail.sha256}`);
    this.#mailByBytes.set(raw, mail);
    return raw;
  }

  /** The import of an application with a parser that only knows the bytes of {@link makeBytes}. */
  createIngest({
    database,
    changes,
    clock,
    logger,
  }: Pick<Application, 'database' | 'changes' | 'clock' | 'logger'>): MailIngest {
    const parser = fakeParser((raw) => this.#mailByBytes.get(raw)!);
    return new MailIngest({
      database,
      changes,
      clock,
      logger,
      parser,
      blobs: discardingBlobStore,
      wakeChecks: () => {},
    });
  }

  /** Rebuilds the conversations of an account. */
  rebuild({ id }: Pick<StoredAccount, 'id'>): Promise<Json> {
    return this.server.data(`POST /api/accounts:rethread?filterByTk=${id}`, { as: 'ann' });
  }

  /** The indexes of messages, grouped by their conversations. */
  async listGroups({ id, emailKeys }: StoredAccount): Promise<number[][]> {
    const text = `SELECT id,"conversationId" FROM emails WHERE "accountId"=${id}`;
    const [rows] = await this.server.running.applications.main.database.read([{ text, values: [] }]);
    const conversations = new Map(rows!.map((row) => [Number(row[0]), Number(row[1])]));
    const sorted = [...emailKeys.keys()].sort((one, other) => one - other);
    return [...Map.groupBy(sorted, (index) => conversations.get(emailKeys.get(index)!)).values()];
  }
}

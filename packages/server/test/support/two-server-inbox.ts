import type { Engine, Store } from './engines.ts';
import { shareStore } from './engines.ts';
import type { Json } from './json.ts';
import { startMailAccountServer, upload } from './mail-account-server.ts';
import { deliverRawMail } from './mail-arrivals.ts';
import { hour, MovingClock } from './moving-clock.ts';
import { makeRawMail } from './raw-mail.ts';
import { TestServer } from './scenario.ts';

/** Conversations of ann's account on two servers that share a clock. */
export class TwoServerInbox {
  readonly clock = new MovingClock();
  server!: TestServer;
  /** Another server on the same store; the same server if only one process can use the store. */
  second!: TestServer;
  #store!: Store;

  /** Starts the servers, with conversations "Number 1", "Number 2" and so on. */
  async start(engine: Engine, conversations: number): Promise<void> {
    this.#store = await engine.store();
    const shared = shareStore(engine, this.#store);
    const { clock } = this;
    this.server = await startMailAccountServer(shared, {}, { clock });
    this.second = engine.name === 'sqlite' ? this.server : await TestServer.start(shared, { clock, signIn: false });
    for (let number = 1; number <= conversations; number++)
      await upload(this.server, 'ann', 1, makeRawMail({ subject: `Number ${number}`, id: `${number}@example.net` }));
  }

  async stop(): Promise<void> {
    if (this.second !== this.server) await this.second.stop();
    await this.server.stop();
    await this.#store.remove();
  }

  readonly inHours = (hours: number): string => new Date(this.clock.now() + hours * hour).toISOString();

  readonly patch = (id: number, body: object): Promise<Json> =>
    this.server.data(`PATCH /api/conversations/${id}`, { as: 'ann', body });

  readonly get = (id: number): Promise<Json> => this.server.data(`GET /api/conversations/${id}`, { as: 'ann' });

  /** Runs the due background work (snoozes and reminders) on both servers at the same time. */
  readonly runDue = (): Promise<unknown> =>
    Promise.all([this.server, this.second].map(({ running }) => running.applications.main.mail.snoozes.runNow()));

  /** The conversations that notifications of a certain kind are about. */
  readonly listNotified = async (kind: string, as = 'ann'): Promise<number[]> =>
    (await this.server.data('GET /api/mailNotifications?sort=id', { as }))
      .filter((each: Json) => each.kind === kind)
      .map(({ conversationId }: Json) => conversationId);

  /** The changes of a field in the history of a conversation: value before, value after, actor. */
  readonly listChanges = async (id: number, name: string): Promise<[before: Json, after: Json, actor: string][]> =>
    (await this.server.data(`GET /api/conversations:history?filterByTk=${id}`, { as: 'ann' })).flatMap(
      ({ changes, actor }: Json) =>
        changes.filter(({ field }: Json) => field === name).map(({ before, after }: Json) => [before, after, actor]),
    );

  /** Delivers a reply to a conversation. @returns the key of the e-mail. */
  readonly answer = (id: number, more: Parameters<typeof makeRawMail>[0] = {}): Promise<number> =>
    deliverRawMail(
      this.server,
      makeRawMail({
        subject: `Re: Number ${id}`,
        from: 'Zoe <zoe@example.net>',
        references: [`${id}@example.net`],
        id: `${crypto.randomUUID()}@x`,
        ...more,
      }),
    );
}

import { expect } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config.ts';
import type { SyncFile } from '../../src/database/sqlite/durability.ts';
import { setCheapHashing } from '../../src/identity/password.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../src/server.ts';
import { type Asked, Expectation } from './documented-replies.ts';
import type { Engine, Store } from './engines.ts';
import type { Json } from './json.ts';
import { birthSettings, rootEmail, rootPassword, serverSettings } from './server-settings.ts';
import { storePicture } from './store-picture.ts';

// Half of what the suite computes would be password hashes. Servers in processes of their own hash at full cost.
setCheapHashing(true);

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

/** One sentence of the contract. `events` defaults to none; every refusal asserts that nothing changed. */
export interface Scenario {
  readonly name: string;
  /** `POST /api/…`; the path is encoded where it holds braces or spaces. */
  readonly request: string;
  /** Name of a token, `nobody`, or a whole Authorization header after `header:`. */
  readonly as?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expect: {
    readonly status: number;
    /** Members that the body must have, deeply. */
    readonly body?: unknown;
    readonly meta?: unknown;
    /** Text that must not stand anywhere in the reply. */
    readonly absent?: readonly string[];
    /** Names of the events that the request caused. */
    readonly events?: readonly string[];
  };
}

/** A real server on a fresh store, with tokens by name. */
export class TestServer {
  readonly store: Store;
  readonly tokens = new Map<string, string>();
  running!: RunningServer;
  readonly #env: Readonly<Record<string, string>>;
  /** What is documented for callers of applications besides `main`, as it was last seen. */
  readonly #documented = new Map<string, Expectation>();
  readonly #parts: Pick<ServerOptions, 'syncFile' | 'clock'>;
  /** False where nobody is there to sign in. */
  readonly #signsIn: boolean;
  /** Tokens of applications that pictures show too, by application. */
  readonly pictured = new Map<string, string>();

  private constructor(
    store: Store,
    env: Readonly<Record<string, string>>,
    parts: Pick<ServerOptions, 'syncFile' | 'clock'>,
    signsIn: boolean,
  ) {
    this.store = store;
    this.#env = env;
    this.#parts = parts;
    this.#signsIn = signsIn;
  }

  static async start(
    engine: Engine,
    {
      env = {},
      signIn = true,
      ...parts
    }: { env?: Record<string, string>; signIn?: boolean; syncFile?: SyncFile; clock?: Clock } = {},
  ): Promise<TestServer> {
    const asUsual = signIn && Object.keys(parts).length === 0 && !birthSettings.some((name) => name in env);
    const server = new TestServer(await engine.store(asUsual), env, parts, signIn);
    await server.boot();
    return server;
  }

  /** Starts (again) on the same store. */
  async boot(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const config = readConfig({
      ...serverSettings,
      DATA_DIR: this.store.dataDir,
      ...(this.store.databaseUrl && { DATABASE_URL: this.store.databaseUrl }),
      ...this.#env,
      ...env,
    });
    this.running = await startServer({ config, ...this.#parts });
    if (this.#signsIn) await this.signInAsAdmin();
  }

  /** Again, where the clock has moved past the session of the first one. */
  async signInAsAdmin(): Promise<void> {
    this.tokens.set('admin', await this.signIn(rootEmail, rootPassword));
  }

  async signIn(email: string, password: string): Promise<string> {
    const { body } = await this.call('POST /api/auth:signIn', { as: 'nobody', body: { email, password } });
    return body.data.token as string;
  }

  /** A key of a role, kept under the role's name. */
  async key(role: string): Promise<string> {
    const { body } = await this.call('POST /api/apiKeys:create', { body: { role: { name: role } } });
    this.tokens.set(role, body.data.token as string);
    return body.data.token as string;
  }

  async call(
    request: string,
    { as = 'admin', body, headers = {} }: Pick<Scenario, 'as' | 'body' | 'headers'> = {},
  ): Promise<Reply> {
    const [method = 'GET', ...rest] = request.split(' ');
    const path = encodeURI(rest.join(' ')).replaceAll('%25', '%');
    const sent: Record<string, string> = {
      ...this.#authorization(as),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
    const documented = await this.#expectation(sent);
    const response = await fetch(this.running.url + path, {
      method,
      headers: sent,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const reply = {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : null,
    };
    await this.#requireDocumented({ method, path, headers: sent }, reply, documented);
    return reply;
  }

  /** An application is opened by requests, not by looking at it: only `main` is asked beforehand. */
  async #expectation(headers: Readonly<Record<string, string>>): Promise<Expectation | null> {
    const { 'x-app': app = 'main' } = headers;
    return app === 'main'
      ? Expectation.of(this.running, headers)
      : (this.#documented.get(JSON.stringify(headers)) ?? null);
  }

  /** A request may change who may do what: its reply fits the document from before it, or the one from after it. */
  async #requireDocumented(asked: Asked, reply: Reply, before: Expectation | null): Promise<void> {
    const { status, headers, body } = reply;
    const answered = { status, headers, body };
    const first = before?.problem(asked, answered);
    if (before && first === null) return;
    const after = await Expectation.of(this.running, asked.headers);
    if (after && asked.headers['x-app'] !== undefined) this.#documented.set(JSON.stringify(asked.headers), after);
    const last = after ? after.problem(asked, answered) : null;
    if (last !== null)
      throw new Error(`${asked.method} ${asked.path} is not as documented: ${last}\n${reply.text.slice(0, 400)}`);
  }

  /** The reply's data, with the status checked: for setting a test up. */
  async data(request: string, more: Pick<Scenario, 'as' | 'body' | 'headers'> = {}): Promise<Json> {
    const reply = await this.call(request, more);
    if (reply.status !== 200) throw new Error(`${request}: ${reply.status} ${reply.text}`);
    return reply.body.data;
  }

  /** Runs one scenario row. */
  async play(scenario: Scenario): Promise<Reply> {
    const refusal = scenario.expect.status >= 400;
    const before = refusal ? await this.#stored() : '';
    const since = await this.lastCursor();
    const reply = await this.call(scenario.request, scenario);
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status: scenario.expect.status });
    if (scenario.expect.body !== undefined) expect(reply.body).toMatchObject(scenario.expect.body as object);
    for (const text of scenario.expect.absent ?? []) expect(reply.text).not.toContain(text);
    expect(await this.#eventsUpTo(since, await this.lastCursor())).toEqual(scenario.expect.events ?? []);
    if (refusal) {
      expect(reply.body).toMatchObject({
        error: expect.any(String),
        message: expect.any(String),
        code: expect.any(String),
      });
      expect(await this.#stored()).toBe(before);
    }
    return reply;
  }

  /** Everything that a refused request must leave as it was. */
  async #stored(): Promise<string> {
    const { applications } = this.running;
    const pictures = [await storePicture(applications.main)];
    for (const name of this.pictured.keys()) {
      const lease = await applications.find(name);
      pictures.push(await storePicture(lease.application).finally(() => lease.release()));
    }
    return pictures.join('\n');
  }

  /** Definitions and every record of every collection, as an admin reads them. */
  async picture(): Promise<string> {
    const pictures = [await this.#pictureOf({})];
    for (const [app, as] of this.pictured) pictures.push(await this.#pictureOf({ as, headers: { 'x-app': app } }));
    return JSON.stringify(pictures);
  }

  async #pictureOf(more: Pick<Scenario, 'as' | 'headers'>): Promise<unknown> {
    const collections = (await this.data('GET /api/collections:list', more)) as { name: string }[];
    const records: unknown[] = [];
    for (const { name } of collections) {
      const fields = name === 'apiKeys' ? '&except=lastUsedAt' : '';
      records.push(await this.data(`GET /api/${name}:list?pageSize=1000&versions=true${fields}`, more));
    }
    return [collections, records];
  }

  /** The newest event, also where the log does not show it yet. */
  async lastCursor(): Promise<string | null> {
    const { database } = this.running.applications.main;
    const order = database.multiNode
      ? 'xid::text,id FROM _events ORDER BY _events.xid DESC,id DESC'
      : '0,id FROM _events ORDER BY id DESC';
    const [rows] = await database.read([{ text: `SELECT ${order} LIMIT 1`, values: [] }]);
    return rows![0] ? `${rows![0][0]}.${rows![0][1]}` : null;
  }

  /** On PostgreSQL a transaction of another database of the cluster may hold the log back for a moment. */
  async #eventsSince(since: string | null, wanted: number): Promise<string[]> {
    for (let attempt = 0; ; attempt += 1) {
      const events = await this.running.applications.main.changes.read(since, 1000);
      if (events.length >= wanted || attempt === 1200) return events.map((event) => event.name);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /**
   * Names of the events after `since`, up to and including `newest`, as the log shows them. Waits until the log has shown
   * `newest`, so that an empty list means that there was no event, not that it was read too early.
   */
  async #eventsUpTo(since: string | null, newest: string | null): Promise<string[]> {
    if (newest === since) return [];
    for (let attempt = 0; ; attempt += 1) {
      const events = await this.running.applications.main.changes.read(since, 1000);
      const last = events.findIndex(({ position }) => position === newest);
      if (last >= 0 || attempt === 1200) return events.slice(0, last + 1).map(({ name }) => name);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** Names of the events since a cursor, read until one of them is `awaited`. */
  async eventNames(since: string | null, awaited: string): Promise<string[]> {
    for (let count = 1; ; count += 1) {
      const names = await this.#eventsSince(since, count);
      if (names.includes(awaited) || names.length < count) return names;
    }
  }

  async stop(): Promise<void> {
    await this.running.stop();
    await this.store.remove();
  }

  #authorization(as: string): Record<string, string> {
    if (as === 'nobody') return {};
    if (as.startsWith('header:')) return { authorization: as.slice(7) };
    return { authorization: `Bearer ${this.tokens.get(as) ?? as}` };
  }
}

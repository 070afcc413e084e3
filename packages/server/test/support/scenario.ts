import { expect } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { setCheapHashing } from '../../src/identity/password.ts';
import type { ErrorCode } from '../../src/protocol/error-catalogue.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../src/server.ts';
import { ReplyExpectation, type SentRequest } from './documented-replies.ts';
import type { Engine, Store } from './engines.ts';
import { sendRequest } from './http-client.ts';
import type { Json } from './json.ts';
import { bootstrapSettings, rootEmail, rootPassword, serverSettings } from './server-settings.ts';
import { readStoreSnapshot } from './store-snapshot.ts';

// Otherwise password hashes would be half of the processor time of the suite. Server processes still hash at full cost.
setCheapHashing(true);

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

/** The parts of a reply that a scenario compares. */
interface ExpectedReply {
  /** Members that the body must have, compared deeply. */
  readonly body?: unknown;
  readonly meta?: unknown;
  /** Texts that must not occur anywhere in the reply. */
  readonly absent?: readonly string[];
}

interface ExpectedSuccess extends ExpectedReply {
  readonly status: 200 | 201 | 204 | 206 | 304;
  /** Names of the events that the request causes, in their order; none by default. */
  readonly events?: readonly string[];
}

/** A refusal has an error code. It emits no events, and changes nothing in the store. */
export interface ExpectedRefusal extends ExpectedReply {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 412 | 413 | 415 | 417 | 422 | 429 | 500 | 503;
  readonly code: ErrorCode;
}

export type ExpectedOutcome = ExpectedSuccess | ExpectedRefusal;

/** One statement of the specification: a request and its outcome. */
export interface Scenario {
  /** A full sentence. */
  readonly name: string;
  /** `POST /api/…`; braces and spaces in the path are encoded. */
  readonly request: string;
  /** The name of a token, `nobody`, or a complete Authorization header after `header:`. */
  readonly as?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expect: ExpectedOutcome;
}

/** A real server on a fresh store, with tokens by name. */
export class TestServer {
  readonly store: Store;
  readonly tokens = new Map<string, string>();
  running!: RunningServer;
  readonly #env: Readonly<Record<string, string>>;
  /** The documents of applications other than `main`, as they were last read. */
  readonly #documented = new Map<string, ReplyExpectation>();
  readonly #parts: Pick<
    ServerOptions,
    'syncFile' | 'clock' | 'dns' | 'mailNetwork' | 'mailSyncTimes' | 'thumbnailPool'
  >;
  /** False if no user exists who could sign in. */
  readonly #signsIn: boolean;
  /** The names of tokens with which snapshots read further applications, by application. */
  readonly snapshotTokens = new Map<string, string>();

  private constructor(
    store: Store,
    env: Readonly<Record<string, string>>,
    parts: Pick<ServerOptions, 'syncFile' | 'clock' | 'dns' | 'mailNetwork' | 'mailSyncTimes' | 'thumbnailPool'>,
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
    }: { env?: Record<string, string>; signIn?: boolean } & Pick<
      ServerOptions,
      'syncFile' | 'clock' | 'dns' | 'mailNetwork' | 'mailSyncTimes' | 'thumbnailPool'
    > = {},
  ): Promise<TestServer> {
    const asUsual = signIn && !parts.syncFile && !parts.clock && !bootstrapSettings.some((name) => name in env);
    const server = new TestServer(await engine.store(asUsual), env, parts, signIn);
    await server.boot();
    return server;
  }

  /** Starts the server, or starts it again, on the same store. */
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

  /** Signs in as the first administrator; also used after the clock has passed the end of the session. */
  async signInAsAdmin(): Promise<void> {
    this.tokens.set('admin', await this.signIn(rootEmail, rootPassword));
  }

  async signIn(email: string, password: string): Promise<string> {
    const { body } = await this.call('POST /api/auth:signIn', { as: 'nobody', body: { email, password } });
    return body.data.token as string;
  }

  /** Creates an API key of a role, and stores its token under the name of the role. */
  async createKey(role: string): Promise<string> {
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
    const {
      status,
      headers: replied,
      text,
    } = await sendRequest(this.running.url + path, {
      method,
      headers: sent,
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const isJson = replied.get('content-type')?.startsWith('application/json');
    const reply = { status, headers: replied, text, body: isJson && text !== '' ? JSON.parse(text) : null };
    await this.#requireDocumented({ method, path, headers: sent }, reply, documented);
    return reply;
  }

  /** Only `main` is read before the request, because reading another application would open it. */
  async #expectation(headers: Readonly<Record<string, string>>): Promise<ReplyExpectation | null> {
    const { 'x-app': app = 'main' } = headers;
    return app === 'main'
      ? ReplyExpectation.forRequest(this.running, headers)
      : (this.#documented.get(JSON.stringify(headers)) ?? null);
  }

  /** A request may change permissions, so its reply must match the document before the request, or the one after it. */
  async #requireDocumented(asked: SentRequest, reply: Reply, before: ReplyExpectation | null): Promise<void> {
    const { status, headers, body } = reply;
    const answered = { status, headers, body };
    const first = before?.findProblem(asked, answered);
    if (before && first === null) return;
    const after = await ReplyExpectation.forRequest(this.running, asked.headers);
    if (after && asked.headers['x-app'] !== undefined) this.#documented.set(JSON.stringify(asked.headers), after);
    const last = after ? after.findProblem(asked, answered) : null;
    if (last !== null)
      throw new Error(`${asked.method} ${asked.path} is not as documented: ${last}\n${reply.text.slice(0, 400)}`);
  }

  /** Returns the data of a reply, and throws unless its status is 200. It is used to prepare tests. */
  async data(request: string, more: Pick<Scenario, 'as' | 'body' | 'headers'> = {}): Promise<Json> {
    const reply = await this.call(request, more);
    if (reply.status !== 200) throw new Error(`${request}: ${reply.status} ${reply.text}`);
    return reply.body.data;
  }

  /** Sends the request of a scenario and compares its outcome. */
  async play(scenario: Scenario): Promise<Reply> {
    const { expect: expected } = scenario;
    const isRefusal = expected.status >= 400;
    if (isRefusal && !('code' in expected)) throw new Error(`The scenario "${scenario.name}" must name its code.`);
    const before = isRefusal ? await this.#stored() : '';
    const since = await this.lastCursor();
    const reply = await this.call(scenario.request, scenario);
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status: expected.status });
    if (expected.body !== undefined) expect(reply.body).toMatchObject(expected.body as object);
    // The request id is random: it can contain any few digits.
    const textWithoutId = reply.text.replace(/"requestId":"[^"]*"/, '');
    for (const text of expected.absent ?? []) expect(textWithoutId).not.toContain(text);
    expect(await this.#eventsUpTo(since, await this.lastCursor())).toEqual(
      'events' in expected ? (expected.events ?? []) : [],
    );
    if ('code' in expected) {
      expect(reply.body).toMatchObject({
        error: expect.any(String),
        message: expect.any(String),
        code: expected.code,
      });
      expect(await this.#stored()).toBe(before);
    }
    return reply;
  }

  /** Everything that a refused request must leave unchanged. */
  async #stored(): Promise<string> {
    const { applications } = this.running;
    const snapshots = [await readStoreSnapshot(applications.main)];
    for (const name of this.snapshotTokens.keys()) {
      const lease = await applications.find(name);
      snapshots.push(await readStoreSnapshot(lease.application).finally(() => lease.release()));
    }
    return snapshots.join('\n');
  }

  /** Definitions and all records of all collections, as an administrator reads them. */
  async readSnapshot(): Promise<string> {
    const snapshots = [await this.#readApplication({})];
    for (const [app, as] of this.snapshotTokens)
      snapshots.push(await this.#readApplication({ as, headers: { 'x-app': app } }));
    return JSON.stringify(snapshots);
  }

  async #readApplication(more: Pick<Scenario, 'as' | 'headers'>): Promise<unknown> {
    const collections = (await this.#readUnchecked('/api/collections:list', more)) as { name: string }[];
    const records: unknown[] = [];
    for (const { name } of collections) {
      const fields = name === 'apiKeys' ? '&except=lastUsedAt' : '';
      const listed = (await this.#readUnchecked(
        `/api/${name}:list?pageSize=1000&versions=true${fields}`,
        more,
      )) as Json[];
      // The nodes of a Citus cluster are no data.
      records.push(name === 'applications' ? listed.map(({ node, move, ...record }) => record) : listed);
    }
    return [collections, records];
  }

  /** The data of a reply that is not compared with the document: a snapshot reads all collections, and each has a document. */
  async #readUnchecked(path: string, { as = 'admin', headers = {} }: Pick<Scenario, 'as' | 'headers'>): Promise<Json> {
    const sent = { ...this.#authorization(as), ...headers };
    const { status, text } = await sendRequest(this.running.url + path, { method: 'GET', headers: sent });
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
    return JSON.parse(text).data;
  }

  /** The cursor of the newest event, even if the log does not show it yet. */
  async lastCursor(): Promise<string | null> {
    const { database } = this.running.applications.main;
    const order = database.multiNode
      ? 'xid::text,id FROM _events ORDER BY _events.xid DESC,id DESC'
      : '0,id FROM _events ORDER BY id DESC';
    const [rows] = await database.read([{ text: `SELECT ${order} LIMIT 1`, values: [] }]);
    return rows![0] ? `${rows![0][0]}.${rows![0][1]}` : null;
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

  /**
   * Names of the events since a cursor, read until one of them is `awaited`, for half a minute at most:
   * on PostgreSQL, a transaction in another database of the cluster can delay the log for a short time.
   */
  async eventNames(since: string | null, awaited: string): Promise<string[]> {
    const names: string[] = [];
    let cursor = since;
    for (let attempt = 0; attempt < 1200 && !names.includes(awaited); attempt += 1) {
      const events = await this.running.applications.main.changes.read(cursor, 1000);
      names.push(...events.map(({ name }) => name));
      cursor = events.at(-1)?.position ?? cursor;
      if (events.length === 0) await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return names;
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

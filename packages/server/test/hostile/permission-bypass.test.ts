import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemActions } from '../../src/http/action-table.ts';
import { describeEngines } from '../support/engines.ts';
import {
  type Attempt,
  listOperations,
  makeBareAttempts,
  makeKeyAttempts,
  makeLinkAttempts,
  makeNamingAttempts,
  type Operation,
} from '../support/hostile/attempts.ts';
import {
  getTwinApplications,
  startTwinApplications,
  type TwinApplication,
  twinCollections,
  twinRoles,
} from '../support/hostile/twin-applications.ts';
import { sendRequest } from '../support/http-client.ts';
import type { TestServer } from '../support/scenario.ts';

/**
 * Tries to bypass the permission checks through every alternative path: (resource × action × parameter × spelling) for
 * roles without the
 * permission. The reply must be the specified one, must not depend on data that the role cannot see, and the request
 * must change nothing.
 */
describeEngines('permission checks on every alternative path', (engine) => {
  const every = Number(process.env['BYPASS_EVERY'] ?? (engine.name === 'postgres' ? 6 : 2));
  let turns = 0;
  const some = <T>(attempts: Iterable<T>): Iterable<T> => takeEvery(every, turns++ % every, attempts);
  let server: TestServer;
  let operations: Operation[];
  beforeAll(async () => {
    server = await startTwinApplications(engine);
    const document = (await server.call('GET /api/docs:openapi', { as: 'rowsLeft', headers: { 'x-app': 'rowsLeft' } }))
      .body;
    operations = listOperations(document, systemActions).filter(
      ({ resource, action }) => !own.has(resource) && !own.has(`${resource}:${action}`),
    );
  });
  afterAll(() => server.stop());

  /** Resources of the whole server, which are refused for everyone in other applications. */
  const managedInMain = new Set(['applications', 'backups', 'serverActivity']);
  /**
   * Resources that every authenticated caller may use: they check permissions themselves, and each has its own tests.
   */
  const own = new Set(['auth', 'docs', 'changes', 'realtime', 'batch', 'files:sign']);
  const inWorld = ({ through }: Operation): boolean =>
    through.every((name) => (twinCollections as readonly string[]).includes(name));

  interface Answer {
    readonly status: number;
    readonly text: string;
    readonly etag: string | null;
  }

  async function send(
    { name, headers }: TwinApplication,
    role: string,
    { method, path, body, headers: more }: Attempt,
  ): Promise<Answer> {
    const token = server.tokens.get(`${name} ${role}`);
    const reply = await sendRequest(server.running.url + path, {
      method,
      headers: {
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        'x-request-id': 'same',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...more,
      },
      body: JSON.stringify(body),
    });
    return { status: reply.status, text: reply.text, etag: reply.headers.get('etag') };
  }

  /** The newest event and the versions of definitions and access. It is cheap to read, and every write changes it. */
  async function mark({ name }: TwinApplication): Promise<string> {
    const lease = await server.running.applications.find(name);
    try {
      const text = 'SELECT (SELECT max(id) FROM _events),version,schema_version FROM _meta';
      const [rows] = await lease.application.database.read([{ text, values: [] }]);
      return String(rows![0]);
    } finally {
      lease.release();
    }
  }
  /** The marks after one operation are reused as those before the next one, because nobody else writes. */
  const marks = new Map<string, string>();

  let asked = 0;
  async function tryBoth(role: string, attempt: Attempt, problems: string[]): Promise<Answer> {
    const sides = getTwinApplications(role);
    const [left, right] = (await Promise.all(sides.map((side) => send(side, role, attempt)))) as [Answer, Answer];
    asked += 1;
    const said = `${role}: ${attempt.method} ${attempt.path} ${JSON.stringify(attempt.body) ?? ''} -> ${left.status} ${left.text.slice(0, 160)}`;
    if (left.text !== right.text || left.status !== right.status || left.etag !== right.etag)
      problems.push(`${said}\n   differs: ${right.status} ${right.text.slice(0, 160)} ${left.etag} ${right.etag}`);
    if (left.status >= 500) problems.push(`${said}\n   fails`);
    return left;
  }

  /** Runs attempts on one operation, which must not change the marks of the two applications. */
  async function unmoved(role: string, { template }: Operation, problems: string[], work: () => Promise<void>) {
    const sides = getTwinApplications(role);
    for (const side of sides) if (!marks.has(side.name)) marks.set(side.name, await mark(side));
    await work();
    for (const side of sides) {
      const found = await mark(side);
      if (found !== marks.get(side.name)) problems.push(`${role}: an attempt at ${template} changes something`);
      marks.set(side.name, found);
    }
  }

  function turning(): () => number {
    let count = 0;
    return () => count++;
  }

  async function unchanged(problems: string[], work: () => Promise<void>): Promise<void> {
    const before = await server.readSnapshot();
    await work();
    expect(problems.slice(0, 30).join('\n'), `${problems.length} problems`).toBe('');
    expect(await server.readSnapshot()).toBe(before);
  }

  describe('a caller without a permission only learns that it is missing', () => {
    for (const role of ['none', 'nobody', 'parentOnly', 'targetOnly'])
      test(role, { timeout: 300_000 }, async () => {
        const problems: string[] = [];
        const granted = role === 'parentOnly' ? ['owners'] : role === 'targetOnly' ? ['items'] : [];
        const status = role === 'nobody' ? 401 : 403;
        const label = ({ resource }: Operation): string => {
          if (status === 401) return 'Unauthorized';
          return managedInMain.has(resource) ? 'Forbidden' : 'No permissions';
        };
        await unchanged(problems, async () => {
          for (const operation of operations) {
            if (operation.through.every((name) => granted.includes(name))) continue;
            await unmoved(role, operation, problems, async () => {
              for (const attempt of some(makeBareAttempts(operation))) {
                const reply = await tryBoth(role, attempt, problems);
                if (reply.status !== status || !reply.text.includes(`"${label(operation)}"`))
                  problems.push(
                    `${role}: ${attempt.method} ${attempt.path} -> ${reply.status} ${reply.text.slice(0, 160)}`,
                  );
              }
            });
          }
        });
        expect(asked).toBeGreaterThan(100);
      });
  });

  describe('a field that the role may not read is refused in every position and spelling', () => {
    for (const role of ['fields', 'blindWriter'])
      test(role, { timeout: 300_000 }, async () => {
        const problems: string[] = [];
        const turn = turning();
        await unchanged(problems, async () => {
          for (const operation of operations.filter(inWorld)) {
            const bare = await tryBoth(
              role,
              { ...firstOf(makeBareAttempts(operation)), method: 'GET', body: undefined },
              [],
            );
            if (bare.text.includes('"No permissions"')) continue;
            if (role === 'blindWriter' && !operation.reads) continue;
            await unmoved(role, operation, problems, async () => {
              for (const attempt of makeNamingAttempts(operation, turn, operation.template === '/api/items:list')) {
                const { status, text } = await tryBoth(role, attempt, problems);
                const refused =
                  attempt.expectedOutcome === 'denied'
                    ? status === 403
                    : attempt.expectedOutcome === 'same' || status >= 400;
                if (!refused)
                  problems.push(
                    `${role}: ${attempt.method} ${attempt.path} ${JSON.stringify(attempt.body) ?? ''} wanted ${attempt.expectedOutcome} -> ${status} ${text.slice(0, 200)}`,
                  );
              }
            });
          }
        });
      });
  });

  describe('replies do not depend on invisible data', () => {
    for (const role of Object.keys(twinRoles).filter((each) => each !== 'none'))
      test(role, { timeout: 300_000 }, async () => {
        const problems: string[] = [];
        await unchanged(problems, async () => {
          for (const operation of operations.filter(inWorld))
            await unmoved(role, operation, problems, async () => {
              for (const attempts of [makeKeyAttempts(operation), makeLinkAttempts(operation)])
                for (const attempt of some(attempts)) await tryBoth(role, attempt, problems);
            });
        });
      });
  });
});

/**
 * Skips attempts so that each kind of attempt is still made on many operations, and each operation gets several kinds:
 * half of them run on
 * SQLite, and a sixth on PostgreSQL, where the same code checks permissions. `BYPASS_EVERY=1` runs all.
 */
function* takeEvery<T>(every: number, first: number, attempts: Iterable<T>): Generator<T> {
  let count = 0;
  for (const attempt of attempts) {
    if (count % every === first) yield attempt;
    count += 1;
  }
}

function firstOf<T>(generator: Generator<T>): T {
  return generator.next().value as T;
}

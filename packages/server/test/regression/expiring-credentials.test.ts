import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Application } from '../../src/applications/application.ts';
import { anonymous } from '../../src/identity/authenticator.ts';
import { findAccountByName, signIn } from '../../src/identity/sign-in.ts';
import { ApiError } from '../../src/protocol/api-error.ts';
import type { RecordContext } from '../../src/records/record-context.ts';
import { createKey } from '../../src/records/system/api-key-rules.ts';
import { createReset } from '../../src/records/system/own-account.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const first = 'correct horse battery';
const second = 'another horse, another battery';

/** A credential may become invalid while the server checks it. Then the server must not act on it. */
describeEngines('a credential that becomes invalid during a request', (engine) => {
  let server: TestServer;
  let main: Application;
  let people = 0;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    main = server.running.applications.main;
  });
  afterAll(() => server.stop());

  const person = async (): Promise<{ id: number; email: string }> => {
    people += 1;
    return server.data('POST /api/users:create', { body: { email: `ann${people}@example.com`, password: first } });
  };
  const change = (id: number, body: object): Promise<unknown> =>
    server.data(`POST /api/users:update?filterByTk=${id}`, { body });

  test.each([
    ['is changed', { password: second }],
    ['belongs to a user who is suspended', { status: 'suspended' }],
  ])('a password that %s during its check gives no session', async (_how, body) => {
    const { id, email } = await person();
    const found = await findAccountByName(main.signInContext, email);
    await change(id, body);
    await expect(signIn(main.signInContext, found, first)).rejects.toMatchObject({ code: 'SIGN_IN_FAILED' });
  });

  test('parallel sign-ins of one user all get a session', async () => {
    const { email } = await person();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => server.signIn(email, first)));
    expect(new Set(tokens).size).toBe(8);
  });

  test('no API key is created for a role that is destroyed during the request', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'passing' } });
    const now = (): RecordContext => main.recordContext({ ...anonymous, role: 'admin' }, null);
    const contexts = [now()];
    await server.data('POST /api/roles:destroy?filterByTk=passing');
    const made = main.withCurrentSnapshot(() => createKey(contexts.pop() ?? now(), { role: 'passing' }));
    await expect(made).rejects.toBeInstanceOf(ApiError);
    expect(await server.data('GET /api/apiKeys:list')).toEqual([]);
  });

  test('no link is sent for an address that changes during the lookup', async () => {
    const { id, email } = await person();
    const { database } = main;
    const slow = {
      dialect: database.dialect,
      read: database.read.bind(database),
      write: async (...work: Parameters<typeof database.write>) => {
        await change(id, { email: `new-${email}` });
        return database.write(...work);
      },
    } as unknown as typeof database;
    const databases = [slow];
    const now = (): RecordContext => main.recordContext(anonymous, null);
    expect(
      await main.withCurrentSnapshot(() => createReset({ ...now(), database: databases.pop() ?? database }, email)),
    ).toBeNull();
    expect(await createReset(main.recordContext(anonymous, null), `new-${email}`)).toMatchObject({
      to: `new-${email}`,
    });
  });
});

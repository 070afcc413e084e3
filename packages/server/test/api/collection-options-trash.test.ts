import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('switching the trash of a collection off', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  test('emptying the trash destroys only records in the trash', async () => {
    const make = (action: string, body?: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    const paranoid = { timestamps: false, paranoid: true };
    const ta = { name: 'ta', type: 'belongsTo', target: 'ta', onDelete: 'cascade', required: true };
    await make('collections:apply', [
      { name: 'ta', options: paranoid },
      { name: 'tb', options: paranoid, fields: [ta] },
      { name: 'tc', options: paranoid, fields: [{ ...ta, name: 'tb', target: 'tb' }] },
    ]);
    await make('ta:create', [{ id: 1 }, { id: 2 }]);
    await make(
      'tb:create',
      [1, 2].map((id) => ({ id, taId: id })),
    );
    await make('tc:create', [{ id: 1, tbId: 1 }]);
    for (const name of ['tb', 'ta']) await make(`${name}:destroy?filterByTk=2`);
    await make('tb:restore?filterByTk=2');
    await make('ta:destroy?filterByTk=1');
    await make('tc:restore?filterByTk=1');
    for (const force of [true, false])
      await server.play({
        name: 'a change that would destroy other records is refused, with and without "force"',
        request: `POST /api/collections:update?filterByTk=ta&force=${force}`,
        body: { paranoid: false },
        expect: {
          status: 409,
          code: 'DEPENDANTS_EXIST',
          body: {
            message: expect.stringContaining('tb: 1 record (id 2); tc: 1 record (id 1)'),
            details: { tb: '1 record (id 2)', tc: '1 record (id 1)' },
          },
        },
      });
    await make('tb:destroy?filterByTk=2');
    await make('tc:destroy?filterByTk=1');
    await make('collections:update?filterByTk=ta&force=true', { paranoid: false });
    expect(await server.data('GET /api/tb:list?withDeleted=true')).toEqual([]);
  });
});

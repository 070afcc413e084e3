/** Which destroyed data a later schema change restores, and which data it must not restore. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('kept data of schema changes', (engine) => {
  let server: TestServer;
  let empty: Json;
  const pull = async (): Promise<Json> => (await server.data('POST /api/schema:pull', { body: {} })).schema;
  const apply = (schema: Json): Promise<Json> =>
    server.data('POST /api/schema:apply', { body: { schema, allowDestructive: true } });
  const undo = (): Promise<Json> => server.data('POST /api/schema:rollback', { body: { allowDestructive: true } });
  const readRows = (name: string): Promise<Json> => server.data(`GET /api/${name}:list?sort=id`);
  const listKept = async (): Promise<string[]> =>
    (await server.data('GET /api/schema:revisions')).tombstones.map(({ name }: Json) => name);
  const findCollection = (schema: Json, name: string): Json =>
    schema.collections.find((each: Json) => each.name === name);
  /** Removes a field from a document, and returns it. */
  const takeField = (schema: Json, name: string): Json => {
    const { fields } = findCollection(schema, 'notes');
    return fields.splice(
      fields.findIndex((each: Json) => each.name === name),
      1,
    )[0];
  };
  /** Destroys a field of the notes, and creates it again with the same id. */
  const recreate = async (name: string, changes: object): Promise<Json> => {
    const schema = await pull();
    const field = takeField(schema, name);
    await apply(schema);
    findCollection(schema, 'notes').fields.push({ id: field.id, name, ...changes });
    return apply(schema);
  };

  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { WEBHOOKS: 'off' } });
    empty = await pull();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await apply(empty);
    await apply({
      ...empty,
      collections: [
        {
          name: 'notes',
          fields: [
            { name: 'text', type: 'string', maxLength: 100 },
            { name: 'code', type: 'password' },
            { name: 'state', type: 'select', enum: ['open', 'done'] },
            { name: 'more', type: 'json' },
          ],
        },
        { name: 'others', fields: [{ name: 'title', type: 'string' }] },
      ],
    });
    await server.data('POST /api/notes:create', {
      body: { text: 'one', code: 'a secret word', state: 'done', more: { a: 1 } },
    });
    await server.data('POST /api/others:create', { body: { title: 'other' } });
  });

  test('the hash of a password is restored into a password field, and never into a readable field', async () => {
    const original = await pull();
    expect((await recreate('code', { type: 'string' })).restored).toEqual([]);
    expect(await readRows('notes')).toMatchObject([{ code: null }]);
    expect(await listKept()).toContain('notes.code');
    await undo();
    expect((await apply(original)).restored).toEqual(['notes.code']);
  });

  test.each([
    ['text', { type: 'integer' }],
    ['text', { type: 'date' }],
    ['text', { type: 'email' }],
    ['text', { type: 'string', maxLength: 2 }],
    ['text', { type: 'string', maxLength: 100, unique: true }],
    ['state', { type: 'select', enum: ['open'] }],
    ['more', { type: 'file' }],
  ])('values are not restored into a field in which they may be invalid: %s as %o', async (name, changes) => {
    const [original, before] = [await pull(), await readRows('notes')];
    expect((await recreate(name, changes)).restored).toEqual([]);
    expect((await readRows('notes'))[0][name] ?? null).toBeNull();
    expect(await listKept()).toContain(`notes.${name}`);
    await undo();
    expect((await apply(original)).restored).toEqual([`notes.${name}`]);
    expect(await readRows('notes')).toMatchObject([{ [name]: before[0][name] }]);
  });

  test('a field that moves to another collection loses its values, and a rollback restores them', async () => {
    const schema = await pull();
    findCollection(schema, 'others').fields.push(takeField(schema, 'text'));
    expect((await apply(schema)).restored).toEqual([]);
    expect(await readRows('others')).toMatchObject([{ text: null }]);
    expect(await listKept()).toContain('notes.text');
    expect((await undo()).restored).toEqual(['notes.text']);
    expect(await readRows('notes')).toMatchObject([{ text: 'one' }]);
  });

  test('records are restored if all their fields are valid, including new fields', async () => {
    const schema = await pull();
    const notes = findCollection(schema, 'notes');
    const without = { ...schema, collections: schema.collections.filter((each: Json) => each !== notes) };
    await apply(without);
    const withField = (field: object): Json => ({
      ...without,
      collections: [...without.collections, { ...notes, fields: [...notes.fields, { name: 'extra', ...field }] }],
    });
    expect((await apply(withField({ type: 'string', required: true }))).restored).toEqual([]);
    expect(await readRows('notes')).toEqual([]);
    expect(await listKept()).toContain('notes');
    await undo();
    const { restored } = await apply(withField({ type: 'string', required: true, defaultValue: 'none' }));
    expect(restored).toEqual(['notes']);
    expect(await readRows('notes')).toMatchObject([{ text: 'one', state: 'done', more: { a: 1 }, extra: 'none' }]);
    const readable = await pull();
    const again = findCollection(readable, 'notes');
    await apply(without);
    const code = again.fields.find((each: Json) => each.name === 'code');
    code.type = 'string';
    expect((await apply(readable)).restored).toEqual(['notes']);
    expect(await readRows('notes')).toMatchObject([{ text: 'one', code: null, extra: 'none' }]);
  });
});

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const folder = join(process.env['SHARED_DATA_DIR'] ?? join(root, '../shared/data'), 'chinook');
const there = existsSync(folder);
if (!there) process.stdout.write(`chinook skipped: there is no folder ${folder}; SHARED_DATA_DIR names another\n`);

interface Entity {
  readonly id: number;
  readonly [name: string]: unknown;
}
const file = (name: string): Entity[] => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Entity[];
const filter = (value: unknown): string => `filter=${encodeURIComponent(JSON.stringify(value))}`;

describeEngines('a real data set', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    if (!there) return;
    server = await TestServer.start(engine);
    const definitions = join(root, 'scripts/chinook-definitions.json');
    await promisify(execFile)(
      process.execPath,
      [join(root, 'scripts/load-json.ts'), '--dir', folder, '--definitions', definitions, '--url', server.running.url],
      { env: { ...process.env, TABLINUM_TOKEN: server.tokens.get('admin')! } },
    );
  }, 120_000);
  afterAll(() => server?.stop());

  test.runIf(there)('is imported completely with its ids', async () => {
    const names = 'artists albums tracks genres mediaTypes customers employees invoices invoiceLines playlists';
    for (const name of names.split(' ')) {
      const records = file(name);
      const { body } = await server.call(`GET /api/${name}:list?pageSize=1&sort=-id`);
      expect([name, body.meta.count, body.data[0].id]).toEqual([
        name,
        records.length,
        Math.max(...records.map(({ id }) => id)),
      ]);
    }
  });

  test.runIf(there)('an album is read with its artist and its tracks in order', async () => {
    const [album] = file('albums').filter((each) => each['title'] === 'Let There Be Rock');
    const tracks = file('tracks').filter((each) => each['albumId'] === album!.id);
    const artist = file('artists').find((each) => each.id === album!['artistId']);
    const found = await server.data(`GET /api/albums:get?filterByTk=${album!.id}&appends=artist,tracks`);
    expect(found).toMatchObject({ title: album!['title'], artist: { id: artist!.id, name: artist!['name'] } });
    expect(found.tracks.map((each: Entity) => [each.id, each['name']])).toEqual(
      tracks.map((each) => [each.id, each['name']]).sort((a, b) => Number(a[0]) - Number(b[0])),
    );
  });

  test.runIf(there)('invoices of a customer are read with lines and track names', async () => {
    const customer = file('customers')[0]!;
    const invoices = file('invoices').filter((each) => each['customerId'] === customer.id);
    const names = new Map(file('tracks').map((each) => [each.id, each['name']]));
    const lines = file('invoiceLines');
    const found = (await server.data(
      `GET /api/invoices:list?${filter({ customerId: customer.id })}&sort=id&pageSize=100&appends=lines,lines.track`,
    )) as { id: number; lines: { id: number; track: { name: string } }[] }[];
    expect(found.map((invoice) => [invoice.id, invoice.lines.map((line) => [line.id, line.track.name])])).toEqual(
      invoices.map((invoice) => [
        invoice.id,
        lines
          .filter((line) => line['invoiceId'] === invoice.id)
          .map((line) => [line.id, names.get(line['trackId'] as number)]),
      ]),
    );
  });

  test.runIf(there)('playlists are read with their tracks, and a manager with reports', async () => {
    const links = file('playlistTracks');
    expect((await server.call('GET /api/playlistTracks:list?pageSize=1')).body.meta.count).toBe(links.length);
    const wanted = links.filter((link) => link['playlistId'] === 16).map((link) => link['trackId'] as number);
    const found = await server.data('GET /api/playlists:get?filterByTk=16&appends=tracks');
    expect(found.tracks.map(({ id }: Entity) => id)).toEqual(wanted.sort((a, b) => a - b));
    const employees = file('employees');
    const [boss] = (await server.data(
      `GET /api/employees:list?${filter({ reportsTo: null })}&appends=reports.reports,customers`,
    )) as { id: number; reports: { id: number; reports: { id: number }[] }[] }[];
    const under = (id: number): number[] => employees.filter((each) => each['reportsTo'] === id).map((each) => each.id);
    expect(boss!.reports.map(({ id, reports }) => [id, reports.map((each) => each.id)])).toEqual(
      under(boss!.id).map((id) => [id, under(id)]),
    );
  });

  test.runIf(there)('tracks are filtered by the name of the artist of their album', async () => {
    const artist = file('artists').find((each) => each['name'] === 'Iron Maiden')!;
    const albums = new Set(
      file('albums')
        .filter((each) => each['artistId'] === artist.id)
        .map(({ id }) => id),
    );
    const wanted = file('tracks')
      .filter((each) => albums.has(each['albumId'] as number))
      .map(({ id }) => id);
    const { body } = await server.call(
      `GET /api/tracks:list?${filter({ 'album.artist.name': 'Iron Maiden' })}&pageSize=1000&fields=id`,
    );
    expect(body.meta.count).toBe(wanted.length);
    expect(body.data.map(({ id }: Entity) => id)).toEqual(wanted.sort((a, b) => a - b));
  });

  test.runIf(there)('the five genres with the highest revenue are those of the files', async () => {
    const tracks = new Map(file('tracks').map((each) => [each.id, each['genreId']]));
    const genres = new Map(file('genres').map((each) => [each.id, each['name'] as string]));
    const cents = new Map<string, number>();
    for (const line of file('invoiceLines')) {
      const genre = genres.get(tracks.get(line['trackId'] as number) as number)!;
      cents.set(genre, (cents.get(genre) ?? 0) + Math.round(Number(line['unitPrice']) * 100));
    }
    const expected = [...cents].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, 5);
    const found = await server.data('POST /api/invoiceLines:query', {
      body: {
        dimensions: [{ field: 'track.genre.name', alias: 'genre' }],
        measures: [{ field: 'unitPrice', aggregation: 'sum', alias: 'revenue' }],
        orders: [{ alias: 'revenue', order: 'desc' }],
        limit: 5,
      },
    });
    expect(found).toEqual(expected.map(([genre, sum]) => ({ genre, revenue: (sum / 100).toFixed(2) })));
  });

  test.runIf(there)('revenue by month and country adds up to the total', async () => {
    const body = {
      dimensions: [
        { field: 'invoiceDate', format: 'YYYY-MM', alias: 'month' },
        { field: 'billingCountry', alias: 'country' },
      ],
      measures: [{ field: 'total', aggregation: 'sum', alias: 'revenue' }],
    };
    const found = (await server.data('POST /api/invoices:query', { body })) as { month: string; revenue: string }[];
    const sum = found.reduce((total, each) => total + Math.round(Number(each.revenue) * 100), 0);
    const all = file('invoices').reduce((total, each) => total + Math.round(Number(each['total']) * 100), 0);
    expect(sum).toBe(all);
    const [first] = file('invoices')
      .map((each) => String(each['invoiceDate']).slice(0, 7))
      .sort();
    expect(found[0]!.month).toBe(first);
  });

  test.runIf(there)('customers of Jane, playlists with a track, and the chain of managers are found', async () => {
    const jane = file('employees').find((each) => each['firstName'] === 'Jane')!;
    const wanted = file('customers').filter((each) => each['supportRepId'] === jane.id);
    const reply = await server.call(`GET /api/customers:list?${filter({ 'supportRep.firstName': 'Jane' })}`);
    expect(reply.body.meta.count).toBe(wanted.length);
    const links = file('playlistTracks').filter((each) => each['trackId'] === 1);
    const lists = await server.data(`GET /api/playlists:list?${filter({ 'tracks.id': 1 })}&fields=id`);
    expect(lists.map((each: Entity) => each.id)).toEqual(
      links.map((each) => Number(each['playlistId'])).sort((a, b) => a - b),
    );
    const chain = await server.data(`GET /api/employees:get?filterByTk=${jane.id}&appends=manager.manager`);
    expect(chain.manager.manager.id).toBe(file('employees').find((each) => each['reportsTo'] === null)!.id);
  });
});

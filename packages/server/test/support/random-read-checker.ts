import { expect } from 'vitest';
import type { Json } from './json.ts';
import { isListDenied, isQueryDenied } from './oracle/denied-names.ts';
import { computeList } from './oracle/list.ts';
import { type CollectionModel, getRows, isMany, isTrashed, type Row } from './oracle/model.ts';
import { computeGroups } from './oracle/query.ts';
import type { ListRequest, QueryRequest } from './oracle/requests.ts';
import { Visibility } from './oracle/visibility.ts';
import type { Draw } from './random-data/draw.ts';
import { installDataset, installRole } from './random-data/install.ts';
import type { RandomDataset } from './random-data/random-dataset.ts';
import { makeRandomList, makeRandomQuery, toRequestBody } from './random-data/requests.ts';
import { now, zones } from './random-data/values.ts';
import { limitToVisible } from './random-data/visible-schema.ts';
import type { Reply, TestServer } from './scenario.ts';

/** One of the two callers for a dataset: an administrator, or a role with random permissions. */
interface Asking {
  readonly as: string;
  readonly zone: string;
  readonly sight: Visibility;
}

const plain: ListRequest = {
  filter: {},
  sort: [],
  fields: null,
  except: [],
  appends: [],
  search: null,
  searchFields: null,
  trash: 'without',
};

/** Sends requests about a random dataset to a server, and compares each reply with that of the oracle. */
export class RandomReadChecker {
  readonly #server: TestServer;
  readonly #random: RandomDataset;
  readonly #user: Row;

  private constructor(server: TestServer, random: RandomDataset, user: Row) {
    this.#server = server;
    this.#random = random;
    this.#user = user;
  }

  static async install(server: TestServer, random: RandomDataset, user: Row): Promise<RandomReadChecker> {
    const admin = { server, as: 'admin', headers: {} };
    try {
      await installDataset(admin, random.schema, random.dataset);
      server.tokens.set(random.role, await installRole(admin, random.role, random.permissions));
    } catch (error) {
      const { schema, dataset: world, permissions } = random;
      const told = JSON.stringify({ definitions: schema.definitions, rows: [...world.rows], permissions });
      throw new Error(`${(error as Error).message}\n${told}`);
    }
    return new RandomReadChecker(server, random, user);
  }

  /** Reads everything once as an administrator, then sends random requests. */
  async play(draw: Draw): Promise<void> {
    for (const collection of this.#collections()) {
      const asking = this.#asking('admin', 'UTC');
      await this.#list(plain, collection, asking, draw);
    }
    for (let count = 0; count < 20; count += 1) {
      const asking = this.#asking(draw.chance(75) ? this.#random.role : 'admin', draw.pick(zones));
      const collection = draw.pick(draw.chance(90) ? this.#random.schema.collections : this.#collections());
      const named = draw.chance(75) ? limitToVisible(this.#random.dataset, asking.sight) : this.#random.dataset;
      const naming = named.collections.get(collection.name)!;
      const list = (): Promise<void> => this.#list(makeRandomList(draw, naming, named), collection, asking, draw);
      await draw.pick([
        list,
        list,
        list,
        () => this.#query(makeRandomQuery(draw, naming, named), collection, asking),
        () => this.#gets(collection, asking),
        () => this.#relation(collection, asking, draw),
      ])();
    }
  }

  #collections(): CollectionModel[] {
    return [...this.#random.schema.collections, ...this.#random.schema.joins];
  }

  #asking(as: string, zone: string): Asking {
    const caller = { role: as, user: this.#user, calendar: { now, zone } };
    return {
      as,
      zone,
      sight: new Visibility(this.#random.dataset, caller, as === 'admin' ? null : this.#random.permissions),
    };
  }

  /** Checks the whole list, its count, its pages one after the other, and its stream. */
  async #list(request: ListRequest, collection: CollectionModel, asking: Asking, draw: Draw): Promise<void> {
    const reply = await this.#post(`${collection.name}:list`, { ...toRequestBody(request), pageSize: 1000 }, asking);
    const told = this.#told(`${collection.name}:list`, request, asking);
    if (isListDenied(request, collection, 'list', asking.sight)) return expectDenied(reply, told);
    const expected = computeList(request, collection, asking.sight);
    expect({ status: reply.status, data: reply.body.data, count: reply.body.meta?.count }, told(reply)).toEqual({
      status: 200,
      data: expected,
      count: expected.length,
    });
    const walk = draw.pick([() => this.#pages, () => this.#cursors, () => this.#streams])();
    await walk.call(this, request, collection, asking, expected, 1 + draw.below(4));
  }

  async #pages(
    request: ListRequest,
    collection: CollectionModel,
    asking: Asking,
    whole: Row[],
    pageSize: number,
  ): Promise<void> {
    await this.#walk(`pages of ${pageSize}`, request, collection, asking, whole, (page, before) =>
      before?.hasNext === false ? null : { pageSize, page, count: page % 2 ? 'exact' : 'none' },
    );
  }

  async #cursors(
    request: ListRequest,
    collection: CollectionModel,
    asking: Asking,
    whole: Row[],
    pageSize: number,
  ): Promise<void> {
    await this.#walk(`cursors of ${pageSize}`, request, collection, asking, whole, (_, before) =>
      before?.nextCursor === null ? null : { pageSize, ...(before && { after: before.nextCursor }) },
    );
  }

  /** Reads all pages one after the other, each by its number or by a value of the previous one; null ends. */
  async #walk(
    how: string,
    request: ListRequest,
    collection: CollectionModel,
    asking: Asking,
    whole: Row[],
    pageOf: (page: number, before: Json | null) => Json | null,
  ): Promise<void> {
    const path = `${collection.name}:list`;
    const shown: unknown[] = [];
    let meta: Json = null;
    for (let page = 1, asked = pageOf(1, null); asked !== null; page += 1, asked = pageOf(page, meta)) {
      const reply = await this.#post(path, { ...toRequestBody(request), ...asked }, asking);
      const told = this.#told(`${path} ${how}, the ${page}.`, request, asking);
      expect(reply.status, told(reply)).toBe(200);
      meta = reply.body.meta;
      if (asked.count !== 'none') expect(meta.count, told(reply)).toBe(whole.length);
      shown.push(...reply.body.data);
    }
    expect(shown, this.#told(`${path} ${how}`, request, asking)()).toEqual(whole);
  }

  async #streams(request: ListRequest, collection: CollectionModel, asking: Asking, whole: Row[]): Promise<void> {
    const path = `${collection.name}:list`;
    const body = { ...toRequestBody(request), paginate: false };
    const list = await this.#post(path, body, asking);
    expect(list.body?.data, this.#told(`${path} stream`, request, asking)(list)).toEqual(whole);
    const lines = await this.#post(path, body, asking, { accept: 'application/x-ndjson' });
    const records = lines.text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
    expect(records, this.#told(`${path} lines`, request, asking)(lines)).toEqual(whole);
  }

  async #query(query: QueryRequest, collection: CollectionModel, asking: Asking): Promise<void> {
    const reply = await this.#post(`${collection.name}:query`, query, asking);
    const told = this.#told(`${collection.name}:query`, query, asking);
    if (isQueryDenied(query, collection, asking.sight)) return expectDenied(reply, told);
    const expected = computeGroups(query, collection, asking.sight);
    if (expected === null) {
      expect(reply.status, told(reply)).toBe(400);
      return;
    }
    expect(reply.status, told(reply)).toBe(200);
    const rounded = query.measures.filter(({ aggregation }) => aggregation === 'avg' || aggregation === 'sum');
    const names = rounded.map(({ alias }) => alias);
    expect(
      reply.body.data.map((row: Row) => roundedIn(row, names)),
      told(reply),
    ).toEqual(expected.map((row) => roundedIn(row, names)));
  }

  /** Checks every record by its key: get must show what a list with the permission for get would show. */
  async #gets(collection: CollectionModel, asking: Asking): Promise<void> {
    const denied = isListDenied(plain, collection, 'get', asking.sight);
    const expected = denied ? [] : computeList(plain, collection, asking.sight, 'get');
    for (const row of getRows(this.#random.dataset, collection.name)) {
      const key = row[collection.key];
      const reply = await this.#post(`${collection.name}:get`, { filterByTk: key }, asking);
      const told = this.#told(`${collection.name}:get`, { filterByTk: key }, asking);
      if (denied) {
        expectDenied(reply, told);
        continue;
      }
      const shown = expected.find((each) => each[collection.key] === key);
      const filtered = this.#random.permissions.find(
        (each) => each.resource === collection.name && each.actions.includes('get'),
      );
      const missing =
        asking.as !== 'admin' && filtered?.filter && Object.keys(filtered.filter).length > 0 ? [403, 404] : [404];
      if (shown)
        expect({ status: reply.status, data: reply.body.data }, told(reply)).toEqual({ status: 200, data: shown });
      else expect(missing, told(reply)).toContain(reply.status);
    }
  }

  /** Checks that the list or get of a relation shows the same as an append. */
  async #relation(collection: CollectionModel, asking: Asking, draw: Draw): Promise<void> {
    const rows = getRows(this.#random.dataset, collection.name).filter((row) => !isTrashed(row));
    if (rows.length === 0 || collection.relations.length === 0) return;
    const row = draw.pick(rows);
    const relation = draw.pick(collection.relations);
    const action = isMany(relation) ? 'list' : 'get';
    const path = `${collection.name}/${encodeURIComponent(String(row[collection.key]))}/${relation.name}:${action}`;
    const reply = await this.#post(path, {}, asking);
    const told = this.#told(path, {}, asking);
    const request = { ...plain, appends: [relation.name] };
    if (isListDenied(request, collection, 'get', asking.sight)) return expectDenied(reply, told);
    const [shown] = computeList(request, collection, asking.sight, 'get').filter(
      (each) => each[collection.key] === row[collection.key],
    );
    if (shown)
      expect({ status: reply.status, data: reply.body.data }, told(reply)).toEqual({
        status: 200,
        data: shown[relation.name],
      });
    else expect(reply.status, told(reply)).toBe(403);
  }

  #post(path: string, body: unknown, { as, zone }: Asking, headers: Record<string, string> = {}): Promise<Reply> {
    return this.#server.call(`POST /api/${path}`, { as, body, headers: { ...headers, 'x-timezone': zone } });
  }

  /** Everything that is needed to reproduce a difference. */
  #told(path: string, request: object, { as, zone }: Asking): (reply?: Reply) => string {
    return (reply) => {
      const { schema, dataset: world, permissions } = this.#random;
      const parts = {
        [`POST ${path}`]: request,
        as,
        zone,
        definitions: schema.definitions,
        rows: Object.fromEntries(world.rows),
        permissions: as === 'admin' ? 'all' : permissions,
      };
      const lines = Object.entries(parts).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
      return `${lines.join('\n')}\n${reply ? `${reply.status} ${reply.text.slice(0, 2000)}` : ''}\n`;
    };
  }
}

function expectDenied(reply: Reply, told: (reply: Reply) => string): void {
  expect(reply.status, told(reply)).toBe(403);
}

/** In sums of floats and in averages, the last digits depend on the order of addition. */
function roundedIn(row: Row, names: readonly string[]): Row {
  const rounded = names
    .filter((name) => typeof row[name] === 'number' && !Number.isSafeInteger(row[name]))
    .map((name) => [name, Number((row[name] as number).toPrecision(10))]);
  return { ...row, ...Object.fromEntries(rounded) };
}

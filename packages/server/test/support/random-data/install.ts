import { type CollectionModel, type Dataset, getRows, isTrashed, type Row } from '../oracle/model.ts';
import type { Permission } from '../oracle/visibility.ts';
import type { TestServer } from '../scenario.ts';
import { isForeignKey, type RandomSchema } from './schema.ts';
import { userFields } from './values.ts';

/** An application of a server, and the credentials to fill it. */
export interface InstallTarget {
  readonly server: TestServer;
  /** The name of the administrator's token, and the headers that name the application. */
  readonly as: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Post = (path: string, body?: unknown) => Promise<unknown>;

function poster({ server, as, headers }: InstallTarget): Post {
  return (path, body) => server.data(`POST /api/${path}`, { as, headers, body });
}

/** Adds the fields to users that the variables of random filters name. */
export async function installUser(place: InstallTarget): Promise<Row> {
  const post = poster(place);
  for (const { name, type } of userFields) await post('fields:create', { collectionName: 'users', name, type });
  await post('users:update?filterByTk=1', Object.fromEntries(userFields.map(({ name, value }) => [name, value])));
  const { server, as, headers } = place;
  const user = await server.data('GET /api/users:get?filterByTk=1', { as, headers });
  return { ...user, roles: ['admin'] };
}

/** Creates the collections of a dataset with their records. */
export async function installDataset(place: InstallTarget, schema: RandomSchema, world: Dataset): Promise<void> {
  const post = poster(place);
  await post('collections:apply', schema.definitions);
  for (const collection of schema.collections) await installRows(post, collection, getRows(world, collection.name));
  for (const collection of schema.collections)
    await installForeignKeys(post, collection, getRows(world, collection.name));
  for (const { name } of schema.joins) {
    const rows = getRows(world, name);
    if (rows.length > 0) await post(`${name}:create`, rows);
  }
  for (const collection of schema.collections) await fillTrash(post, collection, getRows(world, collection.name));
}

async function installRows(post: Post, { name, fields }: CollectionModel, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const sent = fields.filter(
    (field) => !isForeignKey(field) && field.name !== 'deletedAt' && field.type !== 'password',
  );
  await post(
    `${name}:create`,
    rows.map((row) => Object.fromEntries(sent.map((field) => [field.name, row[field.name]]))),
  );
}

/** Sets foreign keys after all records exist, because records may refer to each other and to themselves. */
async function installForeignKeys(
  post: Post,
  { name, key, fields }: CollectionModel,
  rows: readonly Row[],
): Promise<void> {
  for (const foreignKey of fields.filter(isForeignKey).map((field) => field.name))
    for (const [value, named] of Map.groupBy(rows, (row) => row[foreignKey])) {
      if (value === null) continue;
      const filter = JSON.stringify({ [key]: { $in: named.map((row) => row[key]) } });
      await post(`${name}:update?filter=${encodeURIComponent(filter)}`, { [foreignKey]: value });
    }
}

async function fillTrash(post: Post, { name, key }: CollectionModel, rows: readonly Row[]): Promise<void> {
  const keys = rows.filter(isTrashed).map((row) => row[key]);
  if (keys.length > 0) await post(`${name}:destroy?filterByTk=${encodeURIComponent(JSON.stringify(keys))}`);
}

/** Creates a role with its permissions and an API key. */
export async function installRole(
  { server, as, headers }: InstallTarget,
  role: string,
  permissions: readonly Permission[],
): Promise<string> {
  const post = poster({ server, as, headers });
  await post('roles:create', { name: role });
  for (const permission of permissions) await post('permissions:create', { role, ...permission });
  const { token } = (await post('apiKeys:create', { role: { name: role } })) as { token: string };
  return token;
}

import { serverBuild } from '../packages/server/build.ts';
import { buildFolder } from '../scripts/build-folder.ts';
import { Api, inBatches } from './api.ts';
import { type Served, serve } from './child.ts';
import { postAt, postCount, userAt, userCount } from './seed-data.ts';

export interface Prepared {
  readonly served: Served;
  readonly api: Api;
  readonly admin: string;
  readonly reader: string;
}

export const account = { email: 'bench@example.com', password: 'a long bench password' };
/** The options of Node with which the `tablinum` command runs. */
export const commandFlags = ['--max-semi-space-size=4'] as const;
const roomy = '100000000/10s';

/** Starts the real server as `npm start` does, with authentication and limiter in the path. */
export async function startServer(
  dataDir: string,
  databaseUrl: string | null,
  more: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const env = {
    NODE_OPTIONS: commandFlags.join(' '),
    MALLOC_ARENA_MAX: '2',
    MALLOC_TRIM_THRESHOLD_: '131072',
    DATA_DIR: dataDir,
    APP_KEY: 'bench bench bench bench bench bench bench bench',
    INIT_ROOT_EMAIL: account.email,
    INIT_ROOT_PASSWORD: account.password,
    LOG_LEVEL: 'error',
    RATE_LIMIT_CREDENTIAL: roomy,
    RATE_LIMIT_ANONYMOUS: roomy,
    RATE_LIMIT_SIGN_IN: 'off',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    ...more,
  };
  await buildFolder(serverBuild, true);
  return serve('../packages/server/bin/tablinum.js', ['start'], env, '/api/health');
}

/** Signs in, defines and fills users and posts, and makes an admin's and a restricted role's key. */
export async function prepare(served: Served): Promise<Prepared> {
  const api = new Api(served.port);
  api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
  await api.post('fields:create', { collectionName: 'users', name: 'name', type: 'string' });
  await api.post('collections:create', {
    name: 'posts',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'body', type: 'text' },
      { name: 'views', type: 'integer', index: true },
      { name: 'published', type: 'boolean' },
      { name: 'author', type: 'belongsTo', target: 'users', foreignKey: 'authorId' },
    ],
    options: { indexes: [{ fields: ['createdAt'] }] },
  });
  // The first admin is user 1, so user N of the data has the id N + 1.
  await inBatches(userCount, userAt, (users) => api.post('users:create', users));
  const post = (index: number): object => {
    const { author, ...rest } = postAt(index);
    return { ...rest, authorId: author + 1 };
  };
  await inBatches(postCount, post, (posts) => api.post('posts:create', posts));
  await api.post('roles:create', { name: 'reader', title: 'Reader' });
  const fields = ['id', 'title', 'body', 'views', 'published', 'authorId', 'createdAt', 'updatedAt', 'author'];
  await api.post('permissions:create', {
    role: 'reader',
    resource: 'posts',
    actions: ['list', 'get'],
    filter: { published: true },
    fields,
  });
  await api.post('permissions:create', {
    role: 'reader',
    resource: 'users',
    actions: ['get'],
    fields: ['id', 'name', 'email', 'nickname'],
  });
  const key = async (role: string): Promise<string> =>
    ((await api.post('apiKeys:create', { role: { name: role } })).data as { token: string }).token;
  return { served, api, admin: await key('admin'), reader: await key('reader') };
}

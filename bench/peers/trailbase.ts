/**
 * TrailBase, a Rust program on SQLite, built from its crate without the JavaScript runtime (whose build loads a binary that
 * is not in the registry; no case needs it).
 *
 * Its documentation (https://trailbase.io/documentation/production) asks for TLS, mail and backups, and for no other
 * setting of the server. So: a release build with its defaults. It writes each request to its own log database; there is
 * no setting for that. The HTTP log on standard output is off (its default).
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Api, inBatches } from '../api.ts';
import { freePort, type Served, startProcess } from '../child.ts';
import { postCount, userCount } from '../seed-data.ts';
import { folderOf, installPackages, pathOfNode, run, writeFiles } from './install.ts';
import { authorRow, postRow } from './questions.ts';
import {
  account,
  type Call,
  type Dialect,
  type Installed,
  type Peer,
  type Question,
  type Raw,
  type Store,
} from './subject.ts';

const version = '0.2.0';
const folder = (): string => folderOf('trailbase');
const program = (): string => join(folder(), 'target', 'release', 'peer');

const manifest = `[package]
name = "peer"
version = "0.0.0"
edition = "2021"

[dependencies]
trailbase = { version = "=${version}", default-features = false }
tokio = { version = "1", features = ["rt-multi-thread", "macros", "io-std"] }
# It uses these features and this version without asking for them.
aes-gcm = { version = "0.10.3", features = ["alloc", "getrandom"] }
trailbase-qs = "=0.1.0"

[workspace]
`;

/** The crate is the server as a library. */
const main = `use trailbase::{api::force_password_reset, AppState, DataDir, Server, ServerOptions};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn variable(name: &str) -> String {
  std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
  let options = ServerOptions {
    data_dir: DataDir(variable("DATA_DIR").into()),
    address: variable("ADDRESS"),
    ..Default::default()
  };
  let server = Server::init_with_custom_initializer(options, |state: AppState| async move {
    force_password_reset(state.user_conn(), "admin@localhost".into(), variable("PASSWORD")).await?;
    Ok(())
  })
  .await?;
  server.serve().await
}
`;

/** pnpm for the pages of its administrators, which the build includes, with a version of their icons that has those that they use. */
async function installPnpm(): Promise<Record<string, string>> {
  const name = 'pnpm';
  await installPackages(name, { dependencies: { pnpm: '9.15.9' } });
  writeFiles(folderOf(name), {
    'icons.cjs': `const readPackage = (each) => {
  if (each.dependencies?.['solid-icons']) each.dependencies['solid-icons'] = '1.1.0';
  return each;
};
module.exports = { hooks: { readPackage } };
`,
  });
  return {
    PATH: join(folderOf(name), 'node_modules/.bin') + delimiter + (await pathOfNode()),
    npm_config_global_pnpmfile: join(folderOf(name), 'icons.cjs'),
  };
}

async function install(): Promise<Installed> {
  if (!existsSync(program())) {
    writeFiles(folder(), { 'Cargo.toml': manifest, 'src/main.rs': main });
    // Needs protoc; on Debian: protobuf-compiler and libprotobuf-dev.
    await run(folder(), ['cargo', 'build', '--release'], await installPnpm());
  }
  return {
    version,
    runtime: execFileSync('rustc', ['--version'], { encoding: 'utf8' }).split(' ').slice(0, 2).join(' '),
  };
}

const migration = `
CREATE TABLE authors (id INTEGER PRIMARY KEY NOT NULL, name TEXT, email TEXT, nickname TEXT) STRICT;
CREATE TABLE posts (
  id INTEGER PRIMARY KEY NOT NULL, title TEXT, body TEXT, views INTEGER, published INTEGER, posted INTEGER,
  author INTEGER REFERENCES authors (id), created INTEGER DEFAULT (unixepoch()), updated INTEGER DEFAULT (unixepoch())
) STRICT;
CREATE INDEX posts_views ON posts (views);
CREATE INDEX posts_posted ON posts (posted);
CREATE INDEX posts_author ON posts (author);
CREATE TRIGGER posts_updated AFTER UPDATE OF title, body, views, published, posted, author ON posts BEGIN
  UPDATE posts SET updated = unixepoch() WHERE id = OLD.id;
END;
`;

const recordApi = (name: string, more: string): string =>
  `record_apis { name: "${name}" table_name: "${name}" acl_authenticated: [CREATE, READ, UPDATE, DELETE] ${more} }\n`;
const config = `email {}
server { application_name: "bench" site_url: "http://127.0.0.1" }
auth { auth_token_ttl_sec: 86400 }
jobs {}
${recordApi('authors', '')}${recordApi('posts', 'expand: ["author"]')}`;

const dialect: Dialect = {
  createdStatus: 200,
  call(question: Question): Call {
    const posts = '/api/records/v1/posts';
    const encode = (parts: Readonly<Record<string, string | number>>): string =>
      Object.entries(parts)
        .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
        .join('&');
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `${posts}/${question.post}` };
      case 'list':
      case 'author': {
        const filter = { 'filter[published]': 1, 'filter[views][$lt]': question.below };
        const query = encode({ ...filter, order: '-posted', limit: 20 });
        return { method: 'GET', path: `${posts}?${query}${question.kind === 'author' ? '&expand=author' : ''}` };
      }
      case 'search': {
        const word = `%${question.word}%`;
        const query = encode({
          'filter[$or][0][name][$like]': word,
          'filter[$or][1][email][$like]': word,
          limit: 20,
        });
        return { method: 'GET', path: `/api/records/v1/authors?${query}` };
      }
      case 'create':
        return { method: 'POST', path: posts, body: stored(question.post) };
      case 'update':
        return { method: 'PATCH', path: `${posts}/${question.post}`, body: { views: question.views } };
    }
  },
  rows(kind, reply) {
    if (kind === 'get') return [reply as Raw];
    const { records } = reply as { records: Raw[] };
    const author = (record: Raw): unknown => (record['author'] as { data?: Raw } | undefined)?.data?.['name'];
    return kind === 'author' ? records.map((record) => ({ ...record, author: author(record) })) : records;
  },
};

const stored = <T extends { readonly published: boolean }>(post: T): object => ({
  ...post,
  published: Number(post.published),
});

async function start(store: Store): Promise<Served> {
  const port = await freePort();
  return startProcess({
    command: program(),
    args: [],
    env: { DATA_DIR: store.folder, ADDRESS: `127.0.0.1:${port}`, PASSWORD: account.password },
    port,
    probe: '/api/healthcheck',
    log: join(folder(), 'server.log'),
  });
}

async function signedIn(served: Served): Promise<Api> {
  const api = new Api(served.port);
  const reply = (await api.post('auth/v1/login', {
    email: 'admin@localhost',
    password: account.password,
  })) as unknown as { auth_token: string };
  api.token = reply.auth_token;
  return api;
}

async function fill(store: Store): Promise<void> {
  writeFiles(store.folder, { 'config.textproto': config, 'migrations/U1700000000__posts.sql': migration });
  const served = await start(store);
  const api = await signedIn(served);
  const author = (index: number): object => ({ id: index, ...authorRow(index) });
  const post = (index: number): object => ({ id: index, ...stored(postRow(index)) });
  await inBatches(userCount, author, (batch) => api.post('records/v1/authors', batch));
  await inBatches(postCount, post, (batch) => api.post('records/v1/posts', batch));
  await served.stop();
}

export const trailbase: Peer = {
  name: 'TrailBase',
  engine: 'sqlite',
  writes: 'not synced before the reply (WAL, synchronous = NORMAL)',
  configuration: 'defaults, without the JavaScript runtime; any signed-in user may read and write',
  install,
  fill,
  start,
  signIn: async (served) => ({
    served,
    headers: { Authorization: `Bearer ${(await signedIn(served)).token}` },
    dialect,
  }),
};

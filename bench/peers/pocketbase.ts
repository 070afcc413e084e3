/**
 * PocketBase, a Go program on SQLite.
 *
 * Its guide for production (https://pocketbase.io/docs/going-to-production) asks for one executable, for more open files,
 * and optionally for a limit of memory and the rate limiter. So: the program as it is built by default, the rate limiter
 * off as on our side, requests not logged below warnings.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Api, inBatches } from '../api.ts';
import { freePort, type Served, startProcess } from '../child.ts';
import { postCount, userCount } from '../seed-data.ts';
import { folderOf, run, writeFiles } from './install.ts';
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

const version = 'v0.40.4';
const folder = (): string => folderOf('pocketbase');
const program = (): string => join(folder(), 'pocketbase');
const main = `package main

import (
	"log"

	"github.com/pocketbase/pocketbase"
)

func main() {
	app := pocketbase.New()
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
`;

async function install(): Promise<Installed> {
  // A release may need a newer Go than the one that is installed; `go` loads it from the module proxy.
  const env = { GOTOOLCHAIN: 'auto' };
  if (!existsSync(program())) {
    writeFiles(folder(), { 'main.go': main, 'go.mod': 'module peer\n\ngo 1.24\n' });
    const steps = [
      ['go', 'get', `github.com/pocketbase/pocketbase@${version}`],
      ['go', 'mod', 'tidy'],
      ['go', 'build', '-trimpath', '-ldflags', '-s -w', '-o', program(), '.'],
    ];
    for (const step of steps) await run(folder(), step, env);
  }
  const required = /pocketbase\/pocketbase (v\S+)/.exec(readFileSync(join(folder(), 'go.mod'), 'utf8'));
  const options = { cwd: folder(), env: { ...process.env, ...env }, encoding: 'utf8' } as const;
  const runtime = execFileSync('go', ['env', 'GOVERSION'], options).trim();
  return { version: required![1]!.slice(1), runtime };
}

/** Identifiers have 15 characters. */
const postId = (index: number): string => `post${String(index).padStart(11, '0')}`;
const authorId = (index: number): string => `user${String(index).padStart(11, '0')}`;

const dialect: Dialect = {
  createdStatus: 200,
  call(question: Question): Call {
    const posts = '/api/collections/posts/records';
    switch (question.kind) {
      case 'get':
        return { method: 'GET', path: `${posts}/${postId(question.post)}` };
      case 'list':
      case 'author': {
        const filter = encodeURIComponent(`published=true && views<${question.below}`);
        const author = question.kind === 'author' ? '&expand=author' : '';
        return { method: 'GET', path: `${posts}?filter=${filter}&sort=-posted&perPage=20&skipTotal=1${author}` };
      }
      case 'search': {
        const filter = encodeURIComponent(`name~'${question.word}' || email~'${question.word}'`);
        return { method: 'GET', path: `/api/collections/authors/records?filter=${filter}&perPage=20&skipTotal=1` };
      }
      case 'create':
        return { method: 'POST', path: posts, body: { ...question.post, author: authorId(question.post.author) } };
      case 'update':
        return { method: 'PATCH', path: `${posts}/${postId(question.post)}`, body: { views: question.views } };
    }
  },
  rows(kind, reply) {
    if (kind === 'get') return [reply as Raw];
    const { items } = reply as { items: Raw[] };
    const author = (record: Raw): unknown => (record['expand'] as { author?: Raw } | undefined)?.author?.['name'];
    return kind === 'author' ? items.map((record) => ({ ...record, author: author(record) })) : items;
  },
};

async function start(store: Store): Promise<Served> {
  const port = await freePort();
  return startProcess({
    command: program(),
    args: ['serve', `--http=127.0.0.1:${port}`, `--dir=${store.folder}`],
    env: { PATH: process.env['PATH'] ?? '', HOME: store.folder },
    port,
    probe: '/api/health',
    log: join(folder(), 'server.log'),
  });
}

async function signedIn(served: Served): Promise<Api> {
  const api = new Api(served.port);
  const reply = (await api.post('collections/_superusers/auth-with-password', {
    identity: account.email,
    password: account.password,
  })) as unknown as { token: string };
  api.token = reply.token;
  return api;
}

async function fill(store: Store): Promise<void> {
  execFileSync(program(), ['superuser', 'upsert', account.email, account.password, `--dir=${store.folder}`]);
  const served = await start(store);
  const api = await signedIn(served);
  await api.call('PATCH', 'settings', {
    batch: { enabled: true, maxRequests: 1000, timeout: 120 },
    logs: { maxDays: 5, minLevel: 4, logIP: true, logAuthId: false },
    rateLimits: { enabled: false },
  });
  const text = (name: string): object => ({ name, type: 'text' });
  const authors = (await api.post('collections', {
    name: 'authors',
    type: 'base',
    fields: ['name', 'email', 'nickname'].map(text),
  })) as unknown as { id: string };
  await api.post('collections', {
    name: 'posts',
    type: 'base',
    fields: [
      text('title'),
      text('body'),
      { name: 'views', type: 'number', onlyInt: true },
      { name: 'published', type: 'bool' },
      { name: 'posted', type: 'number', onlyInt: true },
      { name: 'author', type: 'relation', collectionId: authors.id, maxSelect: 1 },
      { name: 'created', type: 'autodate', onCreate: true },
      { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
    ],
    indexes: ['views', 'posted', 'author'].map((name) => `CREATE INDEX posts_${name} ON posts (${name})`),
  });
  const send = (collection: string) => (batch: object[]) =>
    api.post('batch', {
      requests: batch.map((body) => ({ method: 'POST', url: `/api/collections/${collection}/records`, body })),
    });
  await inBatches(userCount, (index) => ({ id: authorId(index), ...authorRow(index) }), send('authors'));
  const post = (index: number): object => {
    const row = postRow(index);
    return { ...row, id: postId(index), author: authorId(row.author) };
  };
  await inBatches(postCount, post, send('posts'));
  await served.stop();
}

export const pocketbase: Peer = {
  name: 'PocketBase',
  engine: 'sqlite',
  writes: 'not synced before the reply (WAL, synchronous = NORMAL)',
  configuration: 'defaults; rate limiter off (its default), log from warnings on; superuser',
  install,
  fill,
  start,
  signIn: async (served) => ({
    served,
    headers: { Authorization: (await signedIn(served)).token! },
    dialect,
  }),
};

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));
/** The folders in their order: a folder only imports folders before it. */
const rooms = [
  'protocol',
  'base',
  'schema',
  'database',
  'upgrades',
  'query',
  'access',
  'identity',
  'changes',
  'journal',
  'extensions',
  'records',
  'collections',
  'transfer',
  'webhooks',
  'revisions',
  'mail',
  'files',
  'applications',
  'realtime',
  'openapi',
  'http',
  'readers',
];
/** Files at the top level, which no folder imports. They may import all folders and both engines. */
const roots = [
  'server.ts',
  'open-stores.ts',
  'trace-server.ts',
  'reader-thread.ts',
  'cli.ts',
  'cli-mail.ts',
  'cli-upgrade.ts',
  'cli-export.ts',
  'backup-work.ts',
  'backup-process.ts',
  'move-work.ts',
  'main-restore-work.ts',
  'operator-file.ts',
  'restart-server.ts',
  'cli-backup.ts',
  'cli-backup-address.ts',
  'cli-restore.ts',
  'cli-restore-journal.ts',
  'cli-verify.ts',
  'cli-admin.ts',
  'cli-commands.ts',
  'cli-completion.ts',
  'cli-config.ts',
  'cli-doctor.ts',
  'cli-move.ts',
  'cli-move-copy.ts',
  'cli-move-locations.ts',
  'cli-move-remote.ts',
  'cli-move-sides.ts',
  'cli-move-source.ts',
  'cli-move-state.ts',
  'cli-move-switch.ts',
  'cli-operator.ts',
  'cli-run.ts',
  'cli-schema.ts',
  'cli-schema-folder.ts',
  'cli-files.ts',
  'cli-import.ts',
  'cli-import-progress.ts',
  'cli-import-table.ts',
];

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
);
const text = (file: string): string => readFileSync(join(source, file), 'utf8');
const imports = (file: string): string[] =>
  [...text(file).matchAll(/(?:from|import\()\s*'([^']+)'/g)].map((match) => match[1]!);
/** Mail files that are still in records/. */
const movingFiles: ReadonlySet<string> = new Set(['records/mail-changes.ts', 'records/visible-account.ts']);
const roomOf = (file: string): string => file.split('/')[0]!;
const engineOf = (file: string): string | null => /^database\/(sqlite|postgres)\//.exec(file)?.[1] ?? null;

test('imports follow the order of folders', () => {
  const wrong: string[] = [];
  for (const file of files) {
    if (roots.includes(file)) continue;
    expect(rooms, file).toContain(roomOf(file));
    for (const path of imports(file).filter((each) => each.startsWith('.'))) {
      const target = relative(source, join(source, dirname(file), path));
      if (rooms.indexOf(roomOf(target)) > rooms.indexOf(roomOf(file)) || roots.includes(target))
        wrong.push(`${file} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

/**
 * The folders in records/, each with the folders that it may import ('': the files directly in records/). system/ and
 * relations/ build on reads and writes. Compound writes of write/ look up the rules of a collection in system/.
 */
const recordRooms: Readonly<Record<string, readonly string[]>> = {
  '': [],
  read: [''],
  write: ['', 'read', 'system'],
  system: ['', 'read', 'write'],
  relations: ['', 'read', 'write', 'system'],
};

test('within records/, read/ imports nothing from write/, and write/ nothing from relations/', () => {
  const wrong: string[] = [];
  const recordRoomOf = (file: string): string => /^records\/([a-z]+)\//.exec(file)?.[1] ?? '';
  for (const file of files.filter((name) => roomOf(name) === 'records' && !movingFiles.has(name))) {
    const room = recordRoomOf(file);
    expect(Object.keys(recordRooms), file).toContain(room);
    for (const path of imports(file).filter((each) => each.startsWith('.'))) {
      const target = relative(source, join(source, dirname(file), path));
      if (roomOf(target) !== 'records' || recordRoomOf(target) === room) continue;
      if (!recordRooms[room]?.includes(recordRoomOf(target))) wrong.push(`${file} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('only the composition root imports the engines', () => {
  const wrong: string[] = [];
  for (const file of files) {
    for (const path of imports(file)) {
      const target = path.startsWith('.') ? relative(source, join(source, dirname(file), path)) : path;
      const engine = target === 'node:sqlite' ? 'sqlite' : target === 'pg' ? 'postgres' : engineOf(target);
      if (engine && engineOf(file) !== engine && !roots.includes(file)) wrong.push(`${file} -> ${target}`);
      if (target === 'fastify' && roomOf(file) !== 'http') wrong.push(`${file} -> fastify`);
    }
  }
  expect(wrong).toEqual([]);
});

test('no source makes password hashes cheap, which is for tests only', () => {
  expect(files.filter((file) => text(file).includes('setCheapHashing('))).toEqual(['identity/password.ts']);
});

test('SQL text only occurs in query, database, changes and the write compiler', () => {
  const statement = /['"`]\s*(SELECT|INSERT INTO|UPDATE \S+ SET|DELETE FROM|CREATE TABLE|ALTER TABLE|DROP TABLE)\b/;
  const allowed = new Set(['query', 'database', 'changes', 'records']);
  expect(files.filter((file) => !allowed.has(roomOf(file)) && statement.test(text(file)))).toEqual([]);
});

/** These files read the status of other servers' replies. */
const clients: ReadonlySet<string> = new Set(['base/outbound.ts', 'base/s3-client.ts', 'readers/hand-over.ts']);

test('status numbers only occur in http', () => {
  expect(
    files.filter(
      (file) => roomOf(file) !== 'http' && !clients.has(file) && /statusCode|\.code\(\d|status: \d/.test(text(file)),
    ),
  ).toEqual([]);
});

test('there are no index files and no catch-all names', () => {
  const bad = /^(index|utils?|helpers?|common|manager|service)\.ts$/;
  expect(files.filter((file) => bad.test(basename(file)))).toEqual([]);
});

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const web = fileURLToPath(new URL('../src', import.meta.url));
const client = fileURLToPath(new URL('../../client/src', import.meta.url));
/** Each folder may only import from the folders in its list. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  ui: ['ui'],
  data: ['ui', 'data'],
  admin: ['ui', 'data', 'admin'],
  inbox: ['ui', 'data', 'inbox'],
  app: ['ui', 'data', 'admin', 'inbox', 'app'],
};

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
const listImports = (path: string): [path: string, typeOnly: boolean][] =>
  [
    ...readFileSync(path, 'utf8').matchAll(
      /(import|export) (type )?[^'";]*?from '([^']+)'|import\('([^']+)'\)|^import '([^']+)'/gm,
    ),
  ].map((match) => [(match[3] ?? match[4] ?? match[5])!, match[2] !== undefined]);

test('imports of the web interface follow the order of folders', () => {
  const wrong: string[] = [];
  for (const file of listFiles(web)) {
    const room = file.split('/')[0]!;
    expect(Object.keys(mayImport), file).toContain(room);
    for (const [path] of listImports(join(web, file)).filter(([each]) => each.startsWith('.'))) {
      const target = relative(web, join(web, dirname(file), path));
      if (!mayImport[room]!.includes(target.split('/')[0]!)) wrong.push(`${file} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('only the client package talks to the server, and ui/ does not use the client', () => {
  const wrong = listFiles(web).flatMap((file) =>
    listImports(join(web, file))
      .filter(
        ([path]) =>
          path.startsWith('@tablinum/server') ||
          path.startsWith('node:') ||
          (file.startsWith('ui/') && path.startsWith('@tablinum/')),
      )
      .map(([path]) => `${file} -> ${path}`),
  );
  expect(wrong).toEqual([]);
});

test('the client only imports protocol types from the server', () => {
  const wrong = listFiles(client).flatMap((file) =>
    listImports(join(client, file))
      .filter(([path, typeOnly]) => !path.startsWith('.') && !(path === '@tablinum/server/protocol' && typeOnly))
      .map(([path]) => `${file} -> ${path}`),
  );
  expect(wrong).toEqual([]);
});

test('pages contain no user-visible texts and no raw markup', () => {
  const wrong = listFiles(web)
    .filter((file) => !file.startsWith('ui/i18n/'))
    .flatMap((file) => {
      const text = readFileSync(join(web, file), 'utf8');
      const words = [
        ...text.matchAll(
          /(?:label|title|placeholder|aria-label|description)="([^"]*[a-z]{2}[^"]*)"|>\s*([A-Z][a-z]+ [a-z][^<>{}]*)</g,
        ),
      ];
      const markup = /dangerouslySetInnerHTML|innerHTML\s*=/.test(text) ? [`${file}: markup`] : [];
      return [...markup, ...words.map((match) => `${file}: ${match[1] ?? match[2]}`)];
    });
  expect(wrong).toEqual([]);
});

test('the styles of every used component are included', () => {
  const sent = readFileSync(join(web, 'ui/theme/mantine.css'), 'utf8');
  const styles = fileURLToPath(new URL('../../../node_modules/@mantine/core/styles', import.meta.url));
  const styled = readdirSync(styles).flatMap((name) => /^(\w+)\.layer\.css$/.exec(name)?.[1] ?? []);
  const used = listFiles(web).flatMap((file) =>
    [...readFileSync(join(web, file), 'utf8').matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap((match) =>
      match[1]!.split(',').map((name) => name.trim()),
    ),
  );
  const missing = styled.filter((name) => used.includes(name) && !sent.includes(`/${name}.layer.css`));
  expect(missing).toEqual([]);
});

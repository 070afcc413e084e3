/**
 * Builds the packages of the server and the client as `npm pack` needs them: JavaScript, because Node strips types from no file below
 * `node_modules`, with the declarations of what they export. The server is bundled. The server contains the web interface.
 *
 * Usage: node scripts/build-packages.ts <folder>, which is created. Prints the paths of the packed files.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledLibraries, bundleServer, serverPrograms } from '../packages/server/build.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packages = join(root, 'packages');

type PackageJson = Record<string, unknown> & { readonly name: string; readonly version: string };

/** A relative name of a TypeScript file in an import. */
const sourceName = /((?:\bfrom|\bimport)\s*\(?\s*)'([^'\n]+)\.ts'/g;

const renameSources = (text: string): string => text.replaceAll(sourceName, "$1'$2.js'");

const readJson = (path: string): PackageJson => JSON.parse(readFileSync(path, 'utf8')) as PackageJson;

const program = `#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=4
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('../dist/cli.js');
`;

/** Builds both packages. @param output a folder that does not exist. @returns the folders of the packages. */
export async function buildPackages(output: string): Promise<{ readonly server: string; readonly client: string }> {
  const [server, client] = [join(output, 'server'), join(output, 'client')];
  await bundleServer(join(server, 'dist'), serverPrograms);
  copyOtherFiles(join(packages, 'server/src'), join(server, 'src'));
  compileFolder(join(packages, 'client/src'), join(client, 'src'));
  const declarations = mkdtempSync(join(tmpdir(), 'tablinum-types-'));
  try {
    declareTypes(declarations);
    copyDeclarations(join(declarations, 'server/src/protocol'), join(server, 'src/protocol'));
    copyDeclarations(join(declarations, 'server/src/extensions'), join(server, 'src/extensions'));
    copyDeclarations(join(declarations, 'client/src'), join(client, 'src'));
    // The client needs the server's types only, and no package at run time.
    copyDeclarations(join(declarations, 'server/src/protocol'), join(client, 'protocol'));
  } finally {
    rmSync(declarations, { recursive: true });
  }
  mkdirSync(join(server, 'bin'));
  writeFileSync(join(server, 'bin/tablinum.js'), program, { mode: 0o755 });
  execFileSync(process.execPath, [join(packages, 'web/build.ts'), '--if-needed'], { stdio: 'ignore' });
  cpSync(join(packages, 'web/dist'), join(server, 'web'), { recursive: true });
  for (const each of ['README.md', 'CHANGELOG.md']) cpSync(join(root, each), join(server, each));
  cpSync(join(packages, 'client/README.md'), join(client, 'README.md'));
  writeManifests(server, client);
  return { server, client };
}

/** Removes the types of all sources. */
function compileFolder(from: string, to: string): void {
  for (const path of listFiles(from).filter((each) => each.endsWith('.ts'))) {
    const target = join(to, path).replace(/\.ts$/, '.js');
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, renameSources(stripTypeScriptTypes(readFileSync(join(from, path), 'utf8'))));
  }
}

/** Copies what is no source, such as pages. The bundle finds it where the sources would be. */
function copyOtherFiles(from: string, to: string): void {
  for (const path of listFiles(from).filter((each) => !each.endsWith('.ts'))) cpSync(join(from, path), join(to, path));
}

/** Paths of all files below a folder but tests. */
function listFiles(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'));
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** Writes declarations of what the packages export, and of all that this refers to. */
function declareTypes(output: string): void {
  const config = join(output, 'tsconfig.json');
  const files = ['server/src/protocol/protocol.ts', 'server/src/extensions/extension.ts', 'client/src/client.ts'];
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        rootDir: packages,
        outDir: output,
        typeRoots: [join(root, 'node_modules/@types')],
        // Found through node_modules, sources count as a library, and TypeScript 7.0 now and then declares nothing for them.
        paths: { '@tablinum/server/protocol': [join(packages, 'server/src/protocol/protocol.ts')] },
      },
      include: [],
      files: [...files, 'client/src/realtime.ts'].map((each) => join(packages, each)),
    }),
  );
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], { stdio: 'inherit' });
}

function copyDeclarations(from: string, to: string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.d.ts')) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, relative(from, source));
    mkdirSync(dirname(target), { recursive: true });
    const text = renameSources(readFileSync(source, 'utf8'));
    writeFileSync(target, text.replaceAll("'@tablinum/server/protocol'", "'../protocol/protocol.js'"));
  }
}

function writeManifests(server: string, client: string): void {
  const repository = readJson(join(root, 'package.json'));
  const description = (path: string): PackageJson => {
    const { private: _, ...rest } = readJson(join(packages, path, 'package.json'));
    return rest as PackageJson;
  };
  const entry = (path: string, program = `src/${path}`): { readonly types: string; readonly default: string } => ({
    types: `./src/${path}.d.ts`,
    default: `./${program}.js`,
  });
  const write = (folder: string, content: PackageJson): void =>
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`);
  const { dependencies: libraries, ...manifest } = description('server');
  const isNeeded = ([name]: [string, unknown]): boolean => !bundledLibraries.has(name);
  write(server, {
    ...(manifest as PackageJson),
    dependencies: Object.fromEntries(Object.entries(libraries as object).filter(isNeeded)),
    description: repository['description'],
    engines: repository['engines'],
    exports: {
      './protocol': entry('protocol/protocol', 'dist/protocol'),
      './extension': entry('extensions/extension', 'dist/extension'),
    },
    // The Node that runs the server, as in the repository.
    optionalDependencies: repository['optionalDependencies'],
  });
  const { dependencies: _, ...rest } = description('client');
  write(client, {
    ...(rest as PackageJson),
    description: 'The TypeScript client of Tablinum.',
    engines: { node: '>=22' },
    exports: { '.': entry('client'), './realtime': entry('realtime') },
  });
}

/** Packs a built package. @returns the path of the file. */
export function packPackage(folder: string, output: string): string {
  const text = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', output], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const packed = JSON.parse(text) as { filename: string }[] | Record<string, { filename: string }>;
  const [first] = Array.isArray(packed) ? packed : Object.values(packed);
  if (!first) throw new Error('npm pack has printed no file.');
  return join(output, first.filename.replace('@', '').replace('/', '-'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , output] = process.argv;
  if (output === undefined || output.startsWith('-')) {
    process.stderr.write('Usage: node scripts/build-packages.ts <folder>\n');
    process.exit(2);
  }
  const { server, client } = await buildPackages(output);
  for (const each of [server, client]) process.stdout.write(`${packPackage(each, output)}\n`);
}

/**
 * Builds the packages of the server and the client as `npm pack` needs them: JavaScript, because Node strips types from no file below
 * `node_modules`, with the declarations of what they export. The server contains the web interface.
 *
 * Usage: node scripts/build-packages.ts <folder>, which is created. Prints the paths of the packed files.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packages = join(root, 'packages');

type PackageJson = Record<string, unknown> & { readonly name: string; readonly version: string };

/** A relative name of a TypeScript file in an import, or in the address of a thread or process. */
const sourceName = /((?:\bfrom|\bimport|new URL\()\s*\(?\s*)'([^'\n]+)\.ts'/g;

const renameSources = (text: string): string => text.replaceAll(sourceName, "$1'$2.js'");

const readJson = (path: string): PackageJson => JSON.parse(readFileSync(path, 'utf8')) as PackageJson;

const program = `#!/usr/bin/env -S node --max-semi-space-size=4
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('../src/cli.js');
`;

/** Builds both packages. @param output a folder that does not exist. @returns the folders of the packages. */
export function buildPackages(output: string): { readonly server: string; readonly client: string } {
  const [server, client] = [join(output, 'server'), join(output, 'client')];
  compileFolder(join(packages, 'server/src'), join(server, 'src'));
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

/** Removes the types of all sources, and copies the other files. */
function compileFolder(from: string, to: string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('.test.ts')) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, relative(from, source)).replace(/\.ts$/, '.js');
    mkdirSync(dirname(target), { recursive: true });
    if (!entry.name.endsWith('.ts')) cpSync(source, target);
    else writeFileSync(target, renameSources(stripTypeScriptTypes(readFileSync(source, 'utf8'))));
  }
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
  const entry = (path: string): { readonly types: string; readonly default: string } => ({
    types: `./src/${path}.d.ts`,
    default: `./src/${path}.js`,
  });
  const write = (folder: string, content: PackageJson): void =>
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`);
  write(server, {
    ...description('server'),
    description: repository['description'],
    engines: repository['engines'],
    exports: { './protocol': entry('protocol/protocol'), './extension': entry('extensions/extension') },
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
  const { server, client } = buildPackages(output);
  for (const each of [server, client]) process.stdout.write(`${packPackage(each, output)}\n`);
}

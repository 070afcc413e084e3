/** The folder of schema files: one file for each collection, role and webhook, and `schema.yaml` with the format. */
import { constants, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { Document, isMap, isScalar, isSeq, LineCounter, parseDocument, type Range, visit } from 'yaml';

export type FileFormat = 'yaml' | 'json';

type Entry = Readonly<Record<string, unknown>>;

/** A schema document as the server takes it. */
export interface FolderSchema {
  readonly format: unknown;
  readonly collections: readonly Entry[];
  readonly roles: readonly Entry[];
  readonly webhooks: readonly Entry[];
}

/** What was read from a folder. */
export interface SchemaFolder {
  readonly schema: FolderSchema;
  /** Where a part of the document is, such as `collections/posts.yaml:7`; null if that is not known. */
  locate(path: string): string | null;
}

const lists = ['collections', 'roles', 'webhooks'] as const;
type ListName = (typeof lists)[number];

const extensions: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);
/** A collection with the maximum of fields needs less. */
const maxFileBytes = 4 * 1024 * 1024;
const maxFiles = 20_000;
/** Aliases of YAML can make a small file a huge value. Schema files need none. */
const maxAliases = 100;

interface SchemaFile {
  /** Relative to the folder. */
  readonly name: string;
  readonly value: unknown;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Reads a folder. @throws Error naming the file, the line and the cure. */
export async function readSchemaFolder(folder: string): Promise<SchemaFolder> {
  requireFolder(folder);
  const head = await readHead(folder);
  const files: Record<ListName, SchemaFile[]> = { collections: [], roles: [], webhooks: [] };
  for (const list of lists)
    for (const path of listFiles(join(folder, list))) files[list].push(await readSchemaFile(folder, path));
  for (const list of lists) requireDistinctIds(files[list]);
  requireDistinctFieldIds(files.collections);
  const toEntry = ({ name, value }: SchemaFile): Entry => {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Entry;
    throw new Error(`${name} must contain members such as "name: …". Correct the file, or move it out of the folder.`);
  };
  return {
    schema: {
      format: head,
      collections: files.collections.map(toEntry),
      roles: files.roles.map(toEntry),
      webhooks: files.webhooks.map(toEntry),
    },
    locate: (path) => locate(files, path),
  };
}

function requireFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw new Error(`${folder} is not a folder. Write the files with "tablinum schema pull ${folder}" first.`);
}

async function readHead(folder: string): Promise<unknown> {
  const path = ['schema.yaml', 'schema.yml', 'schema.json']
    .map((name) => join(folder, name))
    .find((each) => existsSync(each));
  // Without this check, an empty folder would mean that everything is to be destroyed.
  if (path === undefined)
    throw new Error(
      `${folder} has no file schema.yaml, so it is not a folder of schema files. Write one with "tablinum schema pull ${folder}".`,
    );
  const { name, value } = await readSchemaFile(folder, path);
  const { format, ...others } = (value ?? {}) as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new Error(`${name} has an unknown member "${other}". Remove it: the file only contains "format".`);
  return format;
}

/** The schema files in a folder, by name. Hidden files, and files with other extensions, are not schema files. */
function listFiles(folder: string): string[] {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found) return [];
  if (!found.isDirectory()) throw new Error(`${folder} must be a folder, not a link or a file. Replace it.`);
  const names = readdirSync(folder)
    .filter((name) => extensions.has(extname(name)) && !name.startsWith('.'))
    .sort();
  if (names.length > maxFiles)
    throw new Error(`${folder} has more than ${maxFiles} files, the maximum. Remove files that are not schema files.`);
  return names.map((name) => join(folder, name));
}

async function readSchemaFile(folder: string, path: string): Promise<SchemaFile> {
  const name = relative(folder, path);
  if (!lstatSync(path).isFile()) throw new Error(`${name} must be a file, not a link or a folder. Replace it.`);
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const { size } = await file.stat();
    if (size > maxFileBytes)
      throw new Error(
        `${name} is larger than ${maxFileBytes / 1024 / 1024} MiB, the maximum of a schema file. Move it out of the folder.`,
      );
    const bytes = await file.readFile();
    return parseFile(name, decode(name, bytes));
  } finally {
    await file.close();
  }
}

function decode(name: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is not encoded in UTF-8. Save it in this encoding.`);
  }
}

function parseFile(name: string, text: string): SchemaFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    const { line } = lines.linePos(problem.pos[0]);
    throw new Error(`${name}:${line}: ${problem.message}. Correct the line.`);
  }
  try {
    return { name, value: document.toJS({ maxAliasCount: maxAliases }), document, lines };
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}. Write the values out, without aliases.`);
  }
}

function requireDistinctIds(files: readonly SchemaFile[]): void {
  const seen = new Map<unknown, SchemaFile>();
  for (const file of files) {
    const id = (file.value as Entry | null)?.['id'];
    const first = id === undefined ? undefined : seen.get(id);
    if (first)
      throw new Error(
        `${describePlace(file, ['id'])}: ${first.name} has the id "${String(id)}" too. Remove the line "id" from the file that is new, or delete the copy.`,
      );
    seen.set(id, file);
  }
}

function requireDistinctFieldIds(files: readonly SchemaFile[]): void {
  const seen = new Map<unknown, string>();
  for (const file of files) {
    const { fields } = (file.value ?? {}) as { fields?: unknown };
    if (!Array.isArray(fields)) continue;
    fields.forEach((field: Entry | null, index) => {
      const id = field?.['id'];
      if (id === undefined) return;
      const place = describePlace(file, ['fields', index, 'id']);
      const first = seen.get(id);
      if (first !== undefined)
        throw new Error(
          `${place}: the field at ${first} has the id "${String(id)}" too. Remove the line "id" from the field that is new.`,
        );
      seen.set(id, place);
    });
  }
}

function describePlace(file: SchemaFile, path: readonly (string | number)[]): string {
  for (let length = path.length; length > 0; length -= 1) {
    const node = file.document.getIn(path.slice(0, length), true) as { range?: Range | null } | undefined;
    if (node?.range) return `${file.name}:${file.lines.linePos(node.range[0]).line}`;
  }
  return file.name;
}

/**
 * Finds the file and line that a path from the server names. The steps of the path are members, indexes, or names of
 * entries of a list.
 */
function locate(files: Readonly<Record<ListName, readonly SchemaFile[]>>, path: string): string | null {
  const [list = '', entry = '', ...steps] = path.split(/[.[\]]+/).filter((step) => step !== '');
  const candidates = files[list as ListName] ?? [];
  const names = ({ value }: SchemaFile): unknown[] => {
    const { id, name, url } = (value ?? {}) as Entry;
    return [name, id, url];
  };
  const file = /^\d+$/.test(entry) ? candidates[Number(entry)] : candidates.find((each) => names(each).includes(entry));
  if (!file) return null;
  const found: (string | number)[] = [];
  for (const step of steps) {
    const node = found.length === 0 ? file.document.contents : file.document.getIn(found, true);
    if (isSeq(node)) {
      const items = node.toJSON() as readonly (Entry | null)[];
      const index = /^\d+$/.test(step)
        ? Number(step)
        : items.findIndex((item) => [item?.['name'], item?.['resource']].includes(step));
      if (index < 0) break;
      found.push(index);
    } else if (isMap(node) && node.has(step)) found.push(step);
    else break;
  }
  return describePlace(file, found);
}

/** The format of the files that are in a folder; null without any. */
export function findFormat(folder: string): FileFormat | null {
  if (existsSync(join(folder, 'schema.json'))) return 'json';
  return existsSync(join(folder, 'schema.yaml')) ? 'yaml' : null;
}

/** What a pull has changed, as names relative to the folder. */
export interface WrittenFiles {
  readonly written: readonly string[];
  readonly removed: readonly string[];
  /** Files that are not schema files, and were left as they are. */
  readonly foreign: readonly string[];
}

/**
 * Writes a schema to a folder. Files that would not change are not written, files of what no longer exists are removed, and all others
 * are left as they are.
 *
 * @throws Error if something other than a folder or file is where one is needed.
 */
export async function writeSchemaFolder(
  folder: string,
  schema: FolderSchema,
  format: FileFormat,
): Promise<WrittenFiles> {
  mkdirSync(folder, { recursive: true });
  requireFolder(folder);
  const written: string[] = [];
  const removed: string[] = [];
  const foreign: string[] = [];
  const write = async (path: string, value: unknown): Promise<void> => {
    const text = formatFile(value, format);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && !found.isFile()) throw new Error(`${path} must be a file, not a link or a folder. Remove it.`);
    if (found && found.size === Buffer.byteLength(text) && (await readText(path)) === text) return;
    const temporary = `${path}.new`;
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { flag: 'wx' });
    renameSync(temporary, path);
    written.push(relative(folder, path));
  };
  for (const list of lists) {
    const inner = join(folder, list);
    const existing = listFiles(inner);
    const entries = nameFiles(schema[list], format);
    if (entries.length > 0) mkdirSync(inner, { recursive: true });
    for (const [name, entry] of entries) await write(join(inner, name), entry);
    const kept = new Set(entries.map(([name]) => join(inner, name)));
    for (const path of existing.filter((each) => !kept.has(each)))
      if (await isSchemaFile(folder, path)) {
        rmSync(path);
        removed.push(relative(folder, path));
      } else foreign.push(relative(folder, path));
  }
  for (const other of (['yaml', 'json'] as const).filter((each) => each !== format))
    rmSync(join(folder, `schema.${other}`), { force: true });
  await write(join(folder, `schema.${format}`), { format: schema.format });
  return { written, removed, foreign };
}

async function readText(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** File names by entry. Names that only differ in case get their ids, because some file systems ignore case. */
function nameFiles(entries: readonly Entry[], format: FileFormat): [name: string, entry: Entry][] {
  const used = new Set<string>();
  return entries.map((entry) => {
    const name = String(entry['name'] ?? entry['id']);
    const isTaken = used.has(name.toLowerCase());
    used.add(name.toLowerCase());
    return [`${isTaken ? `${name}.${String(entry['id'])}` : name}.${format}`, entry];
  });
}

/** Lists of names are on one line, so that files stay short. */
function formatFile(value: unknown, format: FileFormat): string {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_, node) => {
      node.flow = node.items.every(isScalar);
    },
  });
  return document.toString({ lineWidth: 110, flowCollectionPadding: false });
}

/** Whether a file describes something, so that an apply would read it: only such files are removed. */
async function isSchemaFile(folder: string, path: string): Promise<boolean> {
  try {
    const { value } = await readSchemaFile(folder, path);
    const { name, url } = (value ?? {}) as Entry;
    return typeof name === 'string' || typeof url === 'string';
  } catch {
    return false;
  }
}

/** Extensions from a folder: every module in it, in the order of their names. What is wrong with one stops the start. */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { patternProblem } from '../changes/event-pattern.ts';
import { isRecordAction } from '../protocol/actions.ts';
import { isObject } from '../protocol/json-text.ts';
import { addTextType } from '../schema/field-types.ts';
import type { Extension } from './extension.ts';

/** Names the file, and what to do. */
export class ExtensionError extends Error {
  constructor(file: string, problem: string, cause?: unknown) {
    super(`EXTENSIONS_DIR: ${file}: ${problem}`, { cause });
    this.name = 'ExtensionError';
  }
}

const moduleName = '@tablinum/server/extension';
const actionPattern = /^[A-Za-z][A-Za-z0-9_]{0,59}:[A-Za-z][A-Za-z0-9_]{0,59}$/;
const hookedActions = new Set(['create', 'update', 'destroy', 'restore']);
let isModuleHookRegistered = false;

/**
 * @param folder null: there are none.
 * @throws ExtensionError for a module that does not load, or is no extension.
 */
export async function loadExtensions(folder: string | null): Promise<readonly Extension[]> {
  if (folder === null) return [];
  registerModuleHook();
  const loaded: Extension[] = [];
  for (const file of listModules(folder)) {
    const extension = await loadExtension(folder, file);
    const duplicate = loaded.find(({ name }) => name === extension.name);
    if (duplicate) throw new ExtensionError(file, `another extension is called "${extension.name}" too; rename one.`);
    for (const type of extension.fieldTypes ?? [])
      if (!addTextType(type)) throw new ExtensionError(file, `there is a field type "${type.name}" already.`);
    loaded.push(extension);
  }
  return loaded;
}

function listModules(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.m?[jt]s$/.test(name) && !/\.(d|test)\.m?ts$/.test(name))
      .sort();
  } catch (error) {
    throw new ExtensionError(folder, 'the folder cannot be read; set it to one that exists.', error);
  }
}

/** Modules lie anywhere, and find the types of extensions by the server's own name. */
function registerModuleHook(): void {
  if (isModuleHookRegistered) return;
  isModuleHookRegistered = true;
  const url = new URL('./extension.ts', import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === moduleName ? { url, shortCircuit: true } : next(specifier, context),
  });
}

async function loadExtension(folder: string, file: string): Promise<Extension> {
  let module: { readonly default?: unknown };
  try {
    module = (await import(/* @vite-ignore */ pathToFileURL(resolve(join(folder, file))).href)) as typeof module;
  } catch (error) {
    throw new ExtensionError(file, `it cannot be loaded: ${(error as Error).message}`, error);
  }
  const problem = findExtensionProblem(module.default);
  if (problem !== null) throw new ExtensionError(file, problem);
  return module.default as Extension;
}

function findExtensionProblem(given: unknown): string | null {
  if (!isObject(given)) return 'it exports no extension: write "export default defineExtension({…})".';
  const { name, before = [], after = [], actions = [], fieldTypes = [], ...unknownMembers } = given;
  const [unknown] = Object.keys(unknownMembers);
  if (unknown !== undefined) return `an extension has no "${unknown}".`;
  if (typeof name !== 'string' || name === '') return 'give it a name.';
  const lists = { before, after, actions, fieldTypes };
  for (const [member, list] of Object.entries(lists))
    if (!Array.isArray(list) || !list.every(isObject)) return `"${member}" is a list of objects.`;
  return (
    findFirstProblem(before, findBeforeHookProblem) ??
    findFirstProblem(after, findAfterHookProblem) ??
    findFirstProblem(actions, findActionProblem) ??
    findFirstProblem(fieldTypes, findFieldTypeProblem)
  );
}

type Member = Readonly<Record<string, unknown>>;

function findFirstProblem(list: unknown, problem: (member: Member) => string | null): string | null {
  for (const each of list as readonly Member[]) {
    const found = problem(each);
    if (found !== null) return found;
  }
  return null;
}

function findBeforeHookProblem({ collection, actions, run }: Member): string | null {
  if (typeof collection !== 'string') return 'a hook of "before" names its collection.';
  if (!Array.isArray(actions) || actions.length === 0 || !actions.every((each) => hookedActions.has(each as string)))
    return `a hook of "before" lists actions: ${[...hookedActions].join(', ')}.`;
  return findRunProblem('before', run);
}

function findAfterHookProblem({ events, run }: Member): string | null {
  const bad =
    Array.isArray(events) && events.length > 0 ? events.map(findPatternProblem).find(Boolean) : 'names its events.';
  return bad ? `a hook of "after": ${bad}` : findRunProblem('after', run);
}

/** Collections come and go while the server runs: any name may be one. */
function findPatternProblem(pattern: unknown): string | null {
  return patternProblem(pattern, () => true);
}

function findActionProblem({ action, summary, reads, permission, run }: Member): string | null {
  if (typeof action !== 'string' || !actionPattern.test(action)) return 'an action is called "<resource>:<action>".';
  if (isRecordAction(action.split(':')[1]!)) return `"${action}" would replace a generated action; name it otherwise.`;
  if (typeof summary !== 'string' || typeof reads !== 'boolean') return `"${action}" needs a summary, and "reads".`;
  const named =
    isObject(permission) && typeof permission['resource'] === 'string' && typeof permission['action'] === 'string';
  if (permission !== 'public' && !named) return `"${action}" needs a permission: {"resource", "action"}, or "public".`;
  return findRunProblem(action, run);
}

function findFieldTypeProblem({ name, maxLength, holds, give }: Member): string | null {
  if (typeof name !== 'string' || !/^[a-z][A-Za-z0-9]{0,39}$/.test(name))
    return 'a field type has a name such as isbn.';
  if (!Number.isInteger(maxLength) || (maxLength as number) < 1 || (maxLength as number) > 8192)
    return `the field type "${name}" needs a maxLength from 1 to 8192.`;
  return typeof holds === 'function' && typeof give === 'string' ? null : `"${name}" needs "holds" and "give".`;
}

function findRunProblem(what: string, run: unknown): string | null {
  return typeof run === 'function' ? null : `"${what}" needs a function "run".`;
}

/** Loads every module of a folder as an extension, in the order of their names. An invalid module stops the start. */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { patternProblem } from '../changes/event-pattern.ts';
import { isRecordAction } from '../protocol/actions.ts';
import { isObject } from '../protocol/json-text.ts';
import { addTextType } from '../schema/field-types.ts';
import type { Extension } from './extension.ts';

/** An extension that cannot be loaded. The message names the file and the cure. */
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
 * @param folder null: no extensions.
 * @throws ExtensionError for a module that cannot be loaded, or is not an extension.
 */
export async function loadExtensions(folder: string | null): Promise<readonly Extension[]> {
  if (folder === null) return [];
  registerModuleHook();
  const loaded: Extension[] = [];
  for (const file of listModules(folder)) {
    const extension = await loadExtension(folder, file);
    const duplicate = loaded.find(({ name }) => name === extension.name);
    if (duplicate)
      throw new ExtensionError(file, `another extension also has the name "${extension.name}". Rename one of them.`);
    for (const type of extension.fieldTypes ?? [])
      if (!addTextType(type))
        throw new ExtensionError(file, `the field type "${type.name}" exists already. Rename it.`);
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
    throw new ExtensionError(folder, 'the folder cannot be read. Set EXTENSIONS_DIR to an existing folder.', error);
  }
}

/** Modules in any folder can import the types of extensions by the name of the server's package. */
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
  if (!isObject(given)) return 'it does not export an extension. Write "export default defineExtension({…})".';
  const { name, before = [], after = [], actions = [], fieldTypes = [], ...unknownMembers } = given;
  const [unknown] = Object.keys(unknownMembers);
  if (unknown !== undefined) return `an extension has no property "${unknown}". Remove it.`;
  if (typeof name !== 'string' || name === '') return '"name" must be a non-empty string.';
  const lists = { before, after, actions, fieldTypes };
  for (const [member, list] of Object.entries(lists))
    if (!Array.isArray(list) || !list.every(isObject)) return `"${member}" must be a list of objects.`;
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
  if (typeof collection !== 'string') return 'a hook in "before" needs "collection", the name of a collection.';
  if (!Array.isArray(actions) || actions.length === 0 || !actions.every((each) => hookedActions.has(each as string)))
    return `a hook in "before" needs "actions", a list of ${[...hookedActions].join(', ')}.`;
  return findRunProblem('before', run);
}

function findAfterHookProblem({ events, run }: Member): string | null {
  const bad =
    Array.isArray(events) && events.length > 0
      ? events.map(findPatternProblem).find(Boolean)
      : '"events" must be a non-empty list.';
  return bad ? `a hook in "after": ${bad}` : findRunProblem('after', run);
}

/** Collections are created while the server runs, so any name is accepted. */
function findPatternProblem(pattern: unknown): string | null {
  return patternProblem(pattern, () => []);
}

function findActionProblem({ action, summary, reads, permission, run }: Member): string | null {
  if (typeof action !== 'string' || !actionPattern.test(action))
    return '"action" must have the form <resource>:<action>.';
  if (isRecordAction(action.slice(action.indexOf(':') + 1)))
    return `"${action}" would replace a generated action. Rename it.`;
  if (typeof summary !== 'string' || typeof reads !== 'boolean')
    return `"${action}" needs "summary", a string, and "reads", true or false.`;
  const isNamed =
    isObject(permission) && typeof permission['resource'] === 'string' && typeof permission['action'] === 'string';
  if (permission !== 'public' && !isNamed)
    return `"${action}" needs "permission": {"resource", "action"}, or "public".`;
  return findRunProblem(action, run);
}

function findFieldTypeProblem({ name, maxLength, isValid, message }: Member): string | null {
  if (typeof name !== 'string' || !/^[a-z][A-Za-z0-9]{0,39}$/.test(name))
    return 'the "name" of a field type must be a word such as isbn.';
  if (!Number.isInteger(maxLength) || (maxLength as number) < 1 || (maxLength as number) > 8192)
    return `the field type "${name}" needs "maxLength", a whole number from 1 to 8192.`;
  return typeof isValid === 'function' && typeof message === 'string'
    ? null
    : `the field type "${name}" needs "isValid", a function, and "message", a string.`;
}

function findRunProblem(what: string, run: unknown): string | null {
  return typeof run === 'function' ? null : `"${what}" needs a function "run".`;
}

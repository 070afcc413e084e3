/**
 * Which tools of the Model Context Protocol a caller has, and what their names mean: `<action>_<collection>`, and `search_mail`. Only
 * the application's own collections can be written. Of the system collections, some can be read.
 */
import { mailToolCollections, searchedMailCollection } from '../../mail/actions/action-facts.ts';
import { findVisibleFields, isServerManagedAction, mayWrite, type Subject } from '../../openapi/subject.ts';
import type { Collection } from '../../schema/registry.ts';

const readToolActions = ['list', 'get', 'query'] as const;
const writeToolActions = ['create', 'update', 'destroy'] as const;
const toolActions = [...readToolActions, ...writeToolActions] as const;

export type ToolAction = (typeof toolActions)[number];
export type WriteToolAction = (typeof writeToolActions)[number];

/** What a tool does. The caller's permissions are not checked yet. */
export interface ToolTarget {
  readonly name: string;
  readonly resource: string;
  readonly action: ToolAction;
  /** `search_mail`: a list of e-mails with the parameters of the search. */
  readonly isMailSearch: boolean;
}

/** The tools of a caller, and which of them an address is limited to. */
export interface ToolScope {
  readonly subject: Subject;
  /** Whether the server allows tools that write. */
  readonly allowsWrites: boolean;
  /** The collections that the parameter `collections` names; null: all. */
  readonly collections: ReadonlySet<string> | null;
}

const mailSearchTool = 'search_mail';
const mailSearch: ToolTarget = {
  name: mailSearchTool,
  resource: searchedMailCollection,
  action: 'list',
  isMailSearch: true,
};
/** The system collections with tools: those that records refer to, and mail. */
const systemCollections: ReadonlySet<string> = new Set(['users', ...mailToolCollections]);
const systemActions: readonly ToolAction[] = ['list', 'get'];

/** Whether an action of a tool changes records. */
export function isWriteTool(action: ToolAction): action is WriteToolAction {
  return (writeToolActions as readonly string[]).includes(action);
}

/**
 * Parses the name of a tool; null: no tool can have this name. The collection of the name may be unknown, or the caller
 * may have no permission for it: the action decides about both, as in other requests.
 */
export function parseToolName(name: string, { subject, collections }: ToolScope): ToolTarget | null {
  const target = name === mailSearchTool ? mailSearch : splitToolName(name);
  if (target === null || (collections !== null && !collections.has(target.resource))) return null;
  const collection = subject.registry.find(target.resource);
  return collection && !hasTool(collection, target.action) ? null : target;
}

function splitToolName(name: string): ToolTarget | null {
  const end = name.indexOf('_');
  const action = toolActions.find((each) => each === name.slice(0, Math.max(end, 0)));
  const resource = name.slice(end + 1);
  return action === undefined || resource === '' ? null : { name, resource, action, isMailSearch: false };
}

/** The tools of one collection that the caller may use. */
export function listCollectionTools(
  collection: Collection,
  { subject, allowsWrites, collections }: ToolScope,
): ToolTarget[] {
  const { name: resource } = collection;
  if (collection.internal || (collections !== null && !collections.has(resource))) return [];
  const tools: ToolTarget[] = toolActions
    .filter((action) => hasTool(collection, action))
    .filter((action) => (isWriteTool(action) ? allowsWrites : true) && mayUse(subject, collection, action))
    .map((action) => ({ name: `${action}_${resource}`, resource, action, isMailSearch: false }));
  return resource === mailSearch.resource && mayUse(subject, collection, 'list') ? [mailSearch, ...tools] : tools;
}

function hasTool(collection: Collection, action: ToolAction): boolean {
  return !collection.system || (systemCollections.has(collection.name) && systemActions.includes(action));
}

function mayUse(subject: Subject, collection: Collection, action: ToolAction): boolean {
  if (isWriteTool(action)) return mayWrite(subject, collection, action);
  if (action === 'query')
    return !isServerManagedAction(collection, action) && findVisibleFields(subject, collection, 'list') !== null;
  return findVisibleFields(subject, collection, action) !== null;
}

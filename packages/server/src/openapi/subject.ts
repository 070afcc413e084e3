import type { Extension } from '../extensions/extension.ts';
import type { Caller } from '../identity/caller.ts';
import { ungeneratedMailActions } from '../mail/actions/action-facts.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { ErrorLabel } from '../protocol/error-catalogue.ts';
import { requireRelationAccess } from '../query/filter-plan.ts';
import type { Grant, GrantLookup } from '../query/grant.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { findNarrowedSchema } from './system-fields.ts';

/** The role and application of a document. These permissions decide what the document contains. */
export interface Subject {
  readonly application: string;
  readonly caller: Pick<Caller, 'type' | 'role'>;
  readonly registry: Registry;
  readonly findGrant: GrantLookup;
  /** Whether the role may configure the application. */
  readonly mayConfigure: boolean;
  /** The status of each error label, which http/ defines. */
  readonly statuses: Readonly<Record<ErrorLabel, number>>;
  /** Extensions. Their actions are in the document if the extensions describe them. */
  readonly extensions: readonly Extension[];
}

/** The subject of a record context. */
export function createSubject(
  { name, extensions }: { readonly name: string; readonly extensions: readonly Extension[] },
  { caller, registry, findGrant, access }: Pick<RecordContext, 'caller' | 'registry' | 'findGrant' | 'access'>,
  statuses: Subject['statuses'],
): Subject {
  const mayConfigure = access.roles.get(caller.role)?.allowConfigure ?? false;
  return { application: name, caller, registry, findGrant, mayConfigure, statuses, extensions };
}

/** The fields that an action returns; null if the role may not use it. */
export function findVisibleFields(
  subject: Subject,
  collection: Collection,
  action: 'list' | 'get',
): readonly Field[] | null {
  const grant = subject.findGrant(collection.name, action);
  return grant && collection.fields.filter((field) => field.column !== null && !field.type.secret && grant.may(field));
}

/** A relation that the role may follow, with its target collection. */
export interface VisibleRelation {
  readonly field: Field;
  readonly target: Collection;
}

/** The relations that the role may follow. Names and targets of others are not revealed. */
export function findVisibleRelations(subject: Subject, collection: Collection): readonly VisibleRelation[] {
  return collection.fields.flatMap((field) => {
    const target = field.relation && subject.registry.find(field.relation.target);
    return target && mayFollow(subject, collection, field, target) ? [{ field, target }] : [];
  });
}

/** Finds the relations to parts of a record that have no actions of their own, such as the content of an e-mail. */
export function findPartRelations(subject: Subject, collection: Collection): readonly VisibleRelation[] {
  const { registry } = subject;
  return collection.fields.flatMap((field) => {
    if (!field.relation || registry.getTraits(field.relation.target).readableWith === undefined) return [];
    const target = registry.get(field.relation.target);
    return target.internal && mayFollow(subject, collection, field, target) ? [{ field, target }] : [];
  });
}

function mayFollow({ findGrant, registry }: Subject, source: Collection, field: Field, target: Collection): boolean {
  if (field.hidden || !findGrant(source.name, 'get')?.may(field)) return false;
  try {
    requireRelationAccess(field, source, target, { registry, findGrant });
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Whether the role may change links: on the record itself, or on the linked records. */
export function mayLink({ findGrant }: Subject, source: Collection, { field, target }: VisibleRelation): boolean {
  const { kind, targetField, through } = field.relation!;
  if (field.serverManaged || !findGrant(target.name, 'get')) return false;
  const foreignKeyLocation =
    kind === 'belongsTo' || through ? { on: source, as: field } : { on: target, as: target.byName.get(targetField) };
  if (
    isServerManagedAction(foreignKeyLocation.on, 'update') ||
    (foreignKeyLocation.as && findNarrowedSchema(foreignKeyLocation.on, foreignKeyLocation.as, 'given') === null)
  )
    return false;
  return Boolean(foreignKeyLocation.as && findGrant(foreignKeyLocation.on.name, 'update')?.may(foreignKeyLocation.as));
}

/** The grants of all actions; null if one is missing. */
export function findAllGrants(
  { findGrant }: Subject,
  resource: string,
  actions: readonly string[],
): readonly Grant[] | null {
  const grants = actions.map((action) => findGrant(resource, action));
  return grants.every((grant) => grant !== null) ? grants : null;
}

/** Record actions that some system collections lack, because they have system actions or only the server writes them. */
const serverManagedActions: Readonly<Record<string, ReadonlySet<string>>> = {
  apiKeys: new Set(['create', 'firstOrCreate', 'updateOrCreate']),
  applications: new Set([
    'list',
    'get',
    'query',
    'export',
    'storeExport',
    'create',
    'update',
    'destroy',
    'firstOrCreate',
    'updateOrCreate',
  ]),
  applicationErrors: new Set(['create', 'update', 'destroy', 'firstOrCreate', 'updateOrCreate']),
  webhooks: new Set(['create', 'update', 'firstOrCreate', 'updateOrCreate']),
  webhookDeliveries: new Set(['create', 'update', 'destroy', 'firstOrCreate', 'updateOrCreate']),
  ...ungeneratedMailActions,
  files: new Set(['create', 'update', 'firstOrCreate', 'updateOrCreate']),
  imports: new Set(['create', 'update', 'destroy', 'firstOrCreate', 'updateOrCreate']),
  audit: new Set(['export', 'storeExport', 'create', 'update', 'destroy', 'firstOrCreate', 'updateOrCreate']),
};

/** Whether a system collection lacks a record action. */
export function isServerManagedAction({ name, system }: Collection, action: string): boolean {
  return system && serverManagedActions[name]?.has(action) === true;
}

/** Whether the role may write records of a collection by a record action. */
export function mayWrite(
  { findGrant }: Subject,
  collection: Collection,
  action: 'create' | 'update' | 'destroy',
): boolean {
  return findGrant(collection.name, action) !== null && !isServerManagedAction(collection, action);
}

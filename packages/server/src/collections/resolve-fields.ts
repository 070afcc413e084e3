/**
 * Resolves the relations of a definition: finds or creates the keys that they need, in this and in other collections.
 */
import type { FieldDefinition } from '../protocol/definition.ts';
import type { StoredRelation } from '../schema/load-registry.ts';
import { defaultFieldFacts } from './new-field.ts';
import {
  isRelation,
  type Resolution,
  ResolutionDraft,
  type ResolveInput,
  type UnresolvedRelation,
} from './resolution-draft.ts';
import { resolveBelongsTo } from './resolve-belongs-to.ts';
import { resolveBelongsToMany } from './resolve-belongs-to-many.ts';
import { resolveHasMany } from './resolve-has-many.ts';

type RelationResolver = (draft: ResolutionDraft, unresolved: UnresolvedRelation) => StoredRelation | null;

const resolvers: Readonly<Record<string, RelationResolver>> = {
  belongsTo: resolveBelongsTo,
  belongsToMany: resolveBelongsToMany,
  hasMany: resolveHasMany,
  hasOne: resolveHasMany,
};

/**
 * Resolves the fields of a definition.
 *
 * @throws ApiError `DEFINITION_INVALID` with the invalid properties of relations.
 */
export function resolveFields(input: ResolveInput): Resolution {
  const draft = new ResolutionDraft(input);
  const { fields, core, hidden, notNull } = input;
  for (const definition of fields) {
    if (isRelation(definition)) continue;
    const isNotNull = Boolean(definition.primaryKey) || notNull?.(definition) === true;
    const facts = { ...defaultFieldFacts, base: definition.name, notNull: isNotNull, core, hidden: hidden(definition) };
    draft.add({ definition, facts });
  }
  fields.forEach((definition, index) => {
    if (isRelation(definition)) addRelation(draft, { definition, errorPath: input.errorPath(index) });
  });
  return draft.finish();
}

function addRelation(draft: ResolutionDraft, unresolved: UnresolvedRelation): void {
  const { definition } = unresolved;
  const resolve = resolvers[definition.type];
  const relation = resolve && isAllowed(draft, unresolved) ? resolve(draft, unresolved) : null;
  if (relation === null) return;
  const { core, hidden } = draft.input;
  draft.add({ definition, facts: { ...defaultFieldFacts, relation, core, hidden: hidden(definition) } });
}

function isAllowed(draft: ResolutionDraft, { definition, errorPath }: UnresolvedRelation): boolean {
  const { target } = definition;
  if (!draft.findFields(target)) draft.reject(`${errorPath}target`, `There is no collection "${target.slice(0, 60)}".`);
  else if (cascadesToSystemCollection(draft, definition))
    draft.reject(
      `${errorPath}onDelete`,
      'Records of a system collection cannot be deleted by "cascade". Give "setNull" or "restrict".',
    );
  else return true;
  return false;
}

/** Otherwise users (even the last admin) or permissions could be deleted without a permission check. */
function cascadesToSystemCollection({ input }: ResolutionDraft, { type, target, onDelete }: FieldDefinition): boolean {
  const { core, collection, registry } = input;
  if (core || onDelete !== 'cascade' || type === 'belongsToMany') return false;
  const holder = type === 'belongsTo' ? collection : target;
  return registry.all().some((each) => each.name === holder && each.system);
}

import { type ErrorDetails, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { fieldTypes, resolveFieldType } from '../schema/field-types.ts';
import type { JoinFields, Registry } from '../schema/registry.ts';
import { buildJoinCollection, type NewJoinCollection } from './join-collection.ts';
import { defaultFieldFacts, type NewField, type References } from './new-field.ts';
import { toStoredFacts } from './stored-facts.ts';

export interface ResolveInput {
  readonly collection: string;
  readonly fields: readonly FieldDefinition[];
  /** The fields that the collection already has. */
  readonly existing: readonly NewField[];
  readonly registry: Registry;
  readonly core: boolean;
  readonly hidden: (definition: FieldDefinition) => boolean;
  readonly notNull?: (definition: FieldDefinition) => boolean;
  /** The prefix of `details` for the field at an index: `fields[2].` in a collection, empty for a single field. */
  readonly errorPath: (index: number) => string;
}

/** The definition of a relation. The check of definitions has required its target. */
export type RelationDefinition = FieldDefinition & { readonly target: string };

/** Whether a definition is that of a relation. */
export function isRelation(definition: FieldDefinition): definition is RelationDefinition {
  return definition.target !== undefined && fieldTypes.find(definition.type)?.relation === true;
}

/** A relation that is being resolved. */
export interface UnresolvedRelation {
  readonly definition: RelationDefinition;
  /** The prefix of `details` for the field: `fields[2].`, or empty for a single field. */
  readonly errorPath: string;
}

/** A field that already is a foreign key. */
interface ForeignKey {
  readonly name: string;
  readonly references: References;
}

/** A field of another collection. */
interface ForeignField {
  readonly collection: string;
  readonly field: NewField;
}

/** The resolved fields of a definition, and the foreign keys that its relations need in other collections. */
export interface Resolution {
  readonly fields: readonly NewField[];
  readonly foreignFields: readonly ForeignField[];
  /** Join collections that many-to-many relations need and that do not exist yet. */
  readonly joins: readonly NewJoinCollection[];
  /** Fields that exist and become foreign keys, or unique ones. */
  readonly existingForeignKeys: readonly ForeignField[];
  /** Existing fields that become the referenced key of a relation. */
  readonly referencedKeys: readonly { readonly collection: string; readonly name: string }[];
}

/** Collects the results and the problems while the relations of a definition are resolved one by one. */
export class ResolutionDraft {
  readonly input: ResolveInput;
  readonly #details: Record<string, string> = {};
  readonly #fields = new Map<string, NewField>();
  readonly #foreignFields: ForeignField[] = [];
  readonly #joins = new Map<string, NewJoinCollection>();
  readonly #existingForeignKeys = new Map<string, ForeignField>();
  readonly #referencedKeys: { collection: string; name: string }[] = [];

  constructor(input: ResolveInput) {
    this.input = input;
  }

  /** @throws ApiError `DEFINITION_INVALID` with all problems. */
  finish(): Resolution {
    if (Object.keys(this.#details).length > 0) throw invalidDefinition(this.#details as ErrorDetails);
    const known = new Set(this.input.existing.map((each) => each.definition.name));
    return {
      fields: this.#inDefinitionOrder().filter((each) => !known.has(each.definition.name)),
      foreignFields: this.#foreignFields,
      joins: [...this.#joins.values()],
      existingForeignKeys: [...this.#existingForeignKeys.values()],
      referencedKeys: this.#referencedKeys,
    };
  }

  /** @param errorPath names the property. */
  reject(errorPath: string, problem: string): null {
    this.#details[errorPath] = problem;
    return null;
  }

  /** Adds a field of the collection, or replaces it. */
  add(field: NewField): void {
    this.#fields.set(field.definition.name, field);
  }

  addForeignField(collection: string, field: NewField): void {
    this.#foreignFields.push({ collection, field });
  }

  addJoin(join: JoinFields, sides: readonly NewField[]): void {
    this.#joins.set(join.collection, buildJoinCollection(join, sides));
  }

  /** The fields of a join, also of one that will be created; null if it does not exist. */
  findJoinFields(name: string): readonly NewField[] | null {
    return this.findFields(name) ?? this.#joins.get(name)?.fields ?? null;
  }

  /** The fields of a collection, also of the one that is being defined; null if it does not exist. */
  findFields(name: string): readonly NewField[] | null {
    const { collection, existing, registry, core } = this.input;
    if (name === collection) return [...existing, ...this.#fields.values()];
    const found = core ? registry.all().find((each) => each.name === name) : registry.find(name);
    const fields = found?.fields.map((field) => ({ definition: field.definition, facts: toStoredFacts(field) }));
    return fields ?? null;
  }

  /** A field with the changes that this definition makes to it. */
  find(collection: string, name: string): NewField | undefined {
    return (
      this.#existingForeignKeys.get(`${collection}.${name}`)?.field ??
      this.findFields(collection)?.find((each) => each.definition.name === name) ??
      this.findNewForeignField(collection, name)
    );
  }

  findNewForeignField(collection: string, name: string): NewField | undefined {
    return this.#foreignFields.find((each) => each.collection === collection && each.field.definition.name === name)
      ?.field;
  }

  /** The key to which a relation refers: the primary key, or a unique field. */
  findReferencedKey(collection: string, name: string | undefined, errorPath: string): NewField | null {
    const found = this.findFields(collection)?.find((each) =>
      name === undefined ? each.definition.primaryKey : each.definition.name === name,
    );
    if (found?.definition.primaryKey) return found;
    if (found?.definition.unique) return this.#markReferenced(collection, found);
    return this.reject(
      errorPath,
      found
        ? `"${name}" is not unique, so it cannot be the key of a relation. Make it unique first, or name another field.`
        : `There is no field "${String(name).slice(0, 60)}".`,
    );
  }

  #markReferenced(collection: string, found: NewField): NewField {
    const { definition, facts } = found;
    if (facts.anchor || facts.core) return found;
    if (collection === this.input.collection && this.#fields.has(definition.name))
      this.add({ definition, facts: { ...facts, anchor: true } });
    else this.#referencedKeys.push({ collection, name: definition.name });
    return found;
  }

  /** Makes a plain field a foreign key. */
  useAsForeignKey(collection: string, present: NewField, references: References, errorPath: string): boolean {
    const { definition, facts } = present;
    if (facts.core || facts.kept) {
      this.reject(
        `${errorPath}foreignKey`,
        `"${definition.name}" is managed by the server and cannot be a foreign key. Name another field.`,
      );
      return false;
    }
    const indexed = definition.unique || definition.primaryKey ? definition : { ...definition, index: true };
    this.#replace(collection, { definition: indexed, facts: { ...facts, references } });
    return true;
  }

  /** Makes a foreign key unique, so that at most one record refers to each record of its target. */
  makeUnique(collection: string, name: string, errorPath: string): boolean {
    const field = this.find(collection, name);
    if (!field) return false;
    const { definition, facts } = field;
    if (definition.unique || definition.primaryKey) return true;
    if ((facts.core && !this.input.core) || facts.kept) {
      this.reject(
        `${errorPath}foreignKey`,
        `"${name}" of ${collection} is managed by the server and cannot become unique. Use another foreign key.`,
      );
      return false;
    }
    const { index: _, ...rest } = definition;
    this.#replace(collection, { definition: { ...rest, unique: true }, facts });
    return true;
  }

  /** Replaces a field, whether it will be created or already exists. */
  #replace(collection: string, field: NewField): void {
    const { name } = field.definition;
    const foreignIndex = this.#foreignFields.findIndex(
      (each) => each.collection === collection && each.field.definition.name === name,
    );
    if (this.#fields.has(name) && collection === this.input.collection) this.add(field);
    else if (foreignIndex >= 0) this.#foreignFields[foreignIndex] = { collection, field };
    else this.#existingForeignKeys.set(`${collection}.${name}`, { collection, field });
  }

  /** A new foreign key with the type of the key that it refers to. */
  makeForeignKey(name: string, key: NewField, relation: FieldDefinition): NewField {
    const { type, maxLength, precision, scale } = key.definition;
    const definition: FieldDefinition = {
      name,
      type,
      ...(maxLength !== undefined && { maxLength }),
      ...(precision !== undefined && { precision }),
      ...(scale !== undefined && { scale }),
      ...(relation.type === 'belongsTo' && relation.required && { required: true }),
      ...(relation.type === 'belongsTo' && relation.unique && { unique: true }),
    };
    const hidden = relation.type === 'belongsTo' && this.input.hidden(relation);
    return { definition, facts: { ...defaultFieldFacts, base: name, core: this.input.core, hidden } };
  }

  /** Whether a field can be the foreign key of this key. */
  canReference(candidate: NewField, key: NewField, onDelete: References['onDelete'], errorPath: string): boolean {
    const { name, type } = candidate.definition;
    if (resolveFieldType(candidate.definition).storage !== resolveFieldType(key.definition).storage)
      this.reject(
        `${errorPath}foreignKey`,
        `"${name}" has the type "${type}", but the key that it refers to has the type "${key.definition.type}". Use the same type for both.`,
      );
    else if (onDelete === 'setNull' && !mayBecomeNull(candidate.definition))
      this.reject(`${errorPath}onDelete`, `"${name}" cannot be null, so "onDelete" must be "cascade" or "restrict".`);
    else return true;
    return false;
  }

  /** Whether an existing foreign key has the same target and `onDelete` as the relation. */
  hasSameReference(foreignKey: ForeignKey, wanted: References, { definition, errorPath }: UnresolvedRelation): boolean {
    const { name, references } = foreignKey;
    if (references.collection !== wanted.collection || references.field !== wanted.field)
      this.reject(
        `${errorPath}foreignKey`,
        `"${name}" already refers to records of "${references.collection}". Use another foreign key.`,
      );
    else if (definition.onDelete && definition.onDelete !== references.onDelete)
      this.reject(
        `${errorPath}onDelete`,
        `"${name}" already has "onDelete": "${references.onDelete}". Give the same value, or leave it out.`,
      );
    else return true;
    return false;
  }

  /** A new foreign key comes before its relation. */
  #inDefinitionOrder(): NewField[] {
    const names = this.input.fields.flatMap(({ name }) => {
      const relation = this.#fields.get(name)?.facts.relation;
      if (!relation || relation.kind === 'belongsToMany') return [name];
      return [relation.kind === 'belongsTo' ? relation.sourceField : relation.targetField, name];
    });
    return [...new Set(names)].flatMap((name) => this.#fields.get(name) ?? []);
  }
}

/** Whether a foreign key can lose its value. */
function mayBecomeNull({ required, allowNull, primaryKey }: FieldDefinition): boolean {
  return !required && allowNull !== false && !primaryKey;
}

/**
 * The effective `onDelete` of a relation that does not specify it: a foreign key that cannot be null restricts the
 * deletion of its target.
 */
export function defaultOnDelete(key: FieldDefinition): References['onDelete'] {
  return mayBecomeNull(key) ? 'setNull' : 'restrict';
}

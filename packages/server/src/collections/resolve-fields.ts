import { type ErrorDetails, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { fieldTypes, typeOf } from '../schema/field-types.ts';
import type { FieldFacts, StoredRelation } from '../schema/load-registry.ts';
import { collectionNameProblem } from '../schema/names.ts';
import type { JoinFields, Registry } from '../schema/registry.ts';
import { joinFields, joinName, type NewJoin } from './join-collection.ts';
import { storedFacts } from './stored-facts.ts';

/** A field about to be stored. */
export interface NewField {
  readonly definition: FieldDefinition;
  readonly facts: FieldFacts;
}

/** The fields of a definition with their relations worked out, and the foreign keys they need in other collections. */
export interface Resolution {
  readonly own: readonly NewField[];
  readonly foreign: readonly { readonly collection: string; readonly field: NewField }[];
  /** Join collections that many-to-many relations need and nobody has made yet. */
  readonly joins: readonly NewJoin[];
  /** Plain fields that are there already and become foreign keys. */
  readonly adopted: readonly { readonly collection: string; readonly field: NewField }[];
  /** Fields that are there already and become the key by which a relation names records. */
  readonly anchored: readonly { readonly collection: string; readonly name: string }[];
}

export interface ResolveInput {
  readonly collection: string;
  readonly fields: readonly FieldDefinition[];
  /** Fields that the collection has already. */
  readonly existing: readonly NewField[];
  readonly registry: Registry;
  readonly core: boolean;
  readonly hidden: (definition: FieldDefinition) => boolean;
  readonly notNull?: (definition: FieldDefinition) => boolean;
  /** How a detail names the field at an index: `fields[2].` in a collection, nothing for a single field. */
  readonly at: (index: number) => string;
}

/** The key on one side of a relation. */
interface KeySide {
  readonly definition: FieldDefinition;
}

/** @throws ApiError `DEFINITION_INVALID` naming the relation property that does not hold. */
export function resolveFields(input: ResolveInput): Resolution {
  return new Resolver(input).resolve();
}

const plainFacts: FieldFacts = {
  base: null,
  notNull: false,
  kept: false,
  hidden: false,
  core: false,
  references: null,
  relation: null,
};

class Resolver {
  readonly #input: ResolveInput;
  readonly #details: Record<string, string> = {};
  readonly #own = new Map<string, NewField>();
  readonly #foreign: { collection: string; field: NewField }[] = [];
  readonly #joins = new Map<string, NewJoin>();
  readonly #adopted: { collection: string; field: NewField }[] = [];
  readonly #anchored: { collection: string; name: string }[] = [];

  constructor(input: ResolveInput) {
    this.#input = input;
  }

  resolve(): Resolution {
    const { fields, existing } = this.#input;
    for (const definition of fields)
      if (!isRelation(definition)) this.#own.set(definition.name, this.#column(definition));
    fields.forEach((definition, index) => {
      if (isRelation(definition)) this.#relation(definition, index);
    });
    if (Object.keys(this.#details).length > 0) throw invalidDefinition(this.#details as ErrorDetails);
    const known = new Set(existing.map((each) => each.definition.name));
    const ordered = this.#inDefinitionOrder().filter((each) => !known.has(each.definition.name));
    return {
      own: ordered,
      foreign: this.#foreign,
      joins: [...this.#joins.values()],
      adopted: this.#adopted,
      anchored: this.#anchored,
    };
  }

  #column(definition: FieldDefinition): NewField {
    const { core } = this.#input;
    const notNull = Boolean(definition.primaryKey) || this.#input.notNull?.(definition) === true;
    return {
      definition,
      facts: { ...plainFacts, base: definition.name, notNull, core, hidden: this.#input.hidden(definition) },
    };
  }

  #relation(definition: FieldDefinition, index: number): void {
    const at = this.#input.at(index);
    const target = this.#side(definition.target!);
    if (!target) {
      this.#details[`${at}target`] = `There is no collection "${definition.target!.slice(0, 60)}".`;
      return;
    }
    const relation = this.#resolved(definition, at, target);
    if (relation === null) return;
    const facts = { ...plainFacts, relation, core: this.#input.core, hidden: this.#input.hidden(definition) };
    this.#own.set(definition.name, { definition, facts });
  }

  #resolved(definition: FieldDefinition, at: string, target: readonly NewField[]): StoredRelation | null {
    if (this.#takesSystemAlong(definition)) {
      this.#details[`${at}onDelete`] =
        'Records of the system do not fall with others: their rules would not be asked. Give setNull or restrict.';
      return null;
    }
    if (definition.type === 'belongsTo') return this.#belongsTo(definition, at, target);
    if (definition.type === 'belongsToMany') return this.#belongsToMany(definition, at, target);
    return this.#hasMany(definition, at, target);
  }

  /** Else users, down to the last admin, or permissions would go without a look at who may destroy them. */
  #takesSystemAlong({ type, target, onDelete }: FieldDefinition): boolean {
    const { core, collection, registry } = this.#input;
    if (core || onDelete !== 'cascade' || type === 'belongsToMany') return false;
    const holder = type === 'belongsTo' ? collection : target;
    return registry.all().some((each) => each.name === holder && each.system);
  }

  #belongsTo(definition: FieldDefinition, at: string, target: readonly NewField[]): StoredRelation | null {
    const key = this.#key(definition.target!, target, definition.targetKey, `${at}targetKey`);
    if (!key) return null;
    const name = definition.foreignKey ?? `${definition.name}Id`;
    const references = {
      collection: definition.target!,
      field: key.definition.name,
      onDelete: definition.onDelete ?? 'setNull',
    } as const;
    const { collection, existing } = this.#input;
    const present =
      this.#own.get(name) ??
      this.#adoptedIn(collection, name) ??
      existing.find((each) => each.definition.name === name);
    if (present?.facts.references) {
      if (!this.#sameReference(present, references, definition, at)) return null;
    } else if (present && existing.includes(present)) {
      const fits =
        this.#fits(present, key, `${at}foreignKey`) && this.#nullFits(present, references.onDelete, `${at}onDelete`);
      if (!fits || !this.#adopt(collection, present, references, at)) return null;
    } else {
      const made = present ?? this.#foreignKey(name, key, definition);
      if (!this.#fits(made, key, `${at}foreignKey`) || !this.#nullFits(made, references.onDelete, `${at}onDelete`))
        return null;
      this.#own.set(name, { definition: { ...made.definition, index: true }, facts: { ...made.facts, references } });
    }
    return {
      kind: 'belongsTo',
      many: false,
      target: definition.target!,
      sourceField: name,
      targetField: key.definition.name,
      through: null,
    };
  }

  /** Also hasOne, whose foreign key is unique. */
  #hasMany(definition: FieldDefinition, at: string, target: readonly NewField[]): StoredRelation | null {
    const { collection } = this.#input;
    const key = this.#key(collection, this.#side(collection)!, definition.sourceKey, `${at}sourceKey`);
    if (!key) return null;
    const name = definition.foreignKey ?? `${collection}Id`;
    const references = { collection, field: key.definition.name, onDelete: definition.onDelete ?? 'setNull' } as const;
    const present =
      this.#adoptedIn(definition.target!, name) ??
      target.find((each) => each.definition.name === name) ??
      this.#madeAbroad(definition.target!, name);
    const single = definition.type === 'hasOne';
    if (present?.facts.references) {
      if (!this.#sameReference(present, references, definition, at)) return null;
      if (single && !present.definition.unique) {
        this.#details[`${at}foreignKey`] =
          `"${name}" of ${definition.target} is not unique, as the key of a hasOne must be.`;
        return null;
      }
    } else if (present) {
      const fits =
        this.#fits(present, key, `${at}foreignKey`) && this.#nullFits(present, references.onDelete, `${at}onDelete`);
      if (!fits || !this.#adopt(definition.target!, present, references, at)) return null;
      if (single && !present.definition.unique) {
        this.#details[`${at}foreignKey`] =
          `Make "${name}" of ${definition.target} unique first, as the key of a hasOne.`;
        return null;
      }
    } else {
      const made = this.#foreignKey(name, key, definition);
      const kept = single ? { unique: true } : { index: true };
      const field = { definition: { ...made.definition, ...kept }, facts: { ...made.facts, references } };
      if (definition.target === collection) this.#own.set(name, field);
      else this.#foreign.push({ collection: definition.target!, field });
    }
    return {
      kind: single ? 'hasOne' : 'hasMany',
      many: !single,
      target: definition.target!,
      sourceField: key.definition.name,
      targetField: name,
      through: null,
    };
  }

  /** The join is found, or made with both foreign keys. */
  #belongsToMany(definition: FieldDefinition, at: string, target: readonly NewField[]): StoredRelation | null {
    const { collection } = this.#input;
    const source = this.#key(collection, this.#side(collection)!, definition.sourceKey, `${at}sourceKey`);
    const other = this.#key(definition.target!, target, definition.targetKey, `${at}targetKey`);
    if (!source || !other) return null;
    const join = {
      collection: definition.through ?? joinName(collection, definition.target!),
      sourceField: definition.foreignKey ?? `${collection}Id`,
      targetField: definition.otherKey ?? `${definition.target}Id`,
    };
    const problem = this.#joinProblem(join, definition);
    if (problem) {
      this.#details[`${at}${problem[0]}`] = problem[1];
      return null;
    }
    const sides = [
      { name: join.sourceField, references: collection, key: source },
      { name: join.targetField, references: definition.target!, key: other },
    ].map(({ name, references, key }) => ({
      definition: { ...this.#foreignKey(name, key, definition).definition, required: true, index: true },
      facts: {
        ...plainFacts,
        base: name,
        references: { collection: references, field: key.definition.name, onDelete: 'cascade' as const },
      },
    }));
    const present = this.#side(join.collection) ?? this.#joins.get(join.collection)?.fields;
    if (!present) this.#joins.set(join.collection, joinFields(join, sides));
    else if (!sides.every((side) => this.#joinKey(side, present, join.collection, at))) return null;
    return {
      kind: 'belongsToMany',
      many: true,
      target: definition.target!,
      sourceField: source.definition.name,
      targetField: other.definition.name,
      through: join,
    };
  }

  #joinProblem(join: JoinFields, definition: FieldDefinition): [string, string] | null {
    if (join.sourceField === join.targetField)
      return ['otherKey', `Both keys of the join would be "${join.sourceField}"; name one of them otherwise.`];
    if (this.#input.registry.all().some((each) => each.name === join.collection && each.system))
      return ['through', `"${join.collection}" is a system collection and cannot be a join.`];
    if (join.collection === this.#input.collection) return ['through', 'A collection cannot be its own join.'];
    const problem = this.#input.registry.find(join.collection) ? null : collectionNameProblem(join.collection);
    if (problem) return ['through', definition.through ? problem : `${problem} Name the join by "through".`];
    return null;
  }

  /** A foreign key of a join that is there already: the right one, or added. */
  #joinKey(side: NewField, present: readonly NewField[], join: string, at: string): boolean {
    const { name } = side.definition;
    const found = present.find((each) => each.definition.name === name) ?? this.#madeAbroad(join, name);
    const wanted = side.facts.references!;
    if (found) {
      const { references } = found.facts;
      if (references?.collection === wanted.collection && references.field === wanted.field) return true;
      this.#details[`${at}through`] = `"${name}" of ${join} does not name records of ${wanted.collection}.`;
      return false;
    }
    const { required: _, ...optional } = side.definition;
    this.#foreign.push({ collection: join, field: { ...side, definition: optional } });
    return true;
  }

  /** The fields of a collection, also of the one that is being defined. */
  #side(name: string): readonly NewField[] | null {
    if (name === this.#input.collection) return [...this.#input.existing, ...this.#own.values()];
    const { registry, core } = this.#input;
    const found = core ? registry.all().find((each) => each.name === name) : registry.find(name);
    const side = found?.fields.map((field) => ({ definition: field.definition, facts: storedFacts(field) }));
    return side ?? null;
  }

  #anchor(collection: string, found: NewField): NewField {
    const { definition, facts } = found;
    if (facts.anchor || facts.core) return found;
    if (collection === this.#input.collection && this.#own.has(definition.name))
      this.#own.set(definition.name, { definition, facts: { ...facts, anchor: true } });
    else this.#anchored.push({ collection, name: definition.name });
    return found;
  }

  /** A plain field becomes a foreign key: of one that is about to be made at once, of one that is there by a change. */
  #adopt(
    collection: string,
    present: NewField,
    references: NonNullable<FieldFacts['references']>,
    at: string,
  ): boolean {
    const { definition, facts } = present;
    if (facts.core || facts.kept) {
      this.#details[`${at}foreignKey`] = `"${definition.name}" is kept by the server and cannot be a foreign key.`;
      return false;
    }
    const field = {
      definition: definition.unique ? definition : { ...definition, index: true },
      facts: { ...facts, references },
    };
    if (this.#own.has(definition.name) && collection === this.#input.collection) this.#own.set(definition.name, field);
    else this.#adopted.push({ collection, field });
    return true;
  }

  #adoptedIn(collection: string, name: string): NewField | undefined {
    return this.#adopted.find((each) => each.collection === collection && each.field.definition.name === name)?.field;
  }

  #madeAbroad(collection: string, name: string): NewField | undefined {
    return this.#foreign.find((each) => each.collection === collection && each.field.definition.name === name)?.field;
  }

  #key(collection: string, side: readonly NewField[], name: string | undefined, at: string): KeySide | null {
    const found = side.find((each) =>
      name === undefined ? each.definition.primaryKey : each.definition.name === name,
    );
    if (found?.definition.primaryKey) return found;
    if (found?.definition.unique) return this.#anchor(collection, found);
    this.#details[at] = found
      ? `"${name}" is not unique, so it cannot be the key of a relation.`
      : `There is no field "${String(name).slice(0, 60)}".`;
    return null;
  }

  #foreignKey(name: string, key: KeySide, relation: FieldDefinition): NewField {
    const { type, maxLength, precision, scale } = key.definition;
    const definition: FieldDefinition = {
      name,
      type,
      ...(maxLength !== undefined && { maxLength }),
      ...(precision !== undefined && { precision }),
      ...(scale !== undefined && { scale }),
      ...(relation.type === 'belongsTo' && relation.required && { required: true }),
    };
    const hidden = relation.type === 'belongsTo' && this.#input.hidden(relation);
    return { definition, facts: { ...plainFacts, base: name, core: this.#input.core, hidden } };
  }

  #fits(made: NewField, key: KeySide, at: string): boolean {
    const same = typeOf(made.definition).storage === typeOf(key.definition).storage;
    if (!same)
      this.#details[at] =
        `"${made.definition.name}" is ${made.definition.type}, the key it names is ${key.definition.type}.`;
    return same;
  }

  #nullFits(made: NewField, onDelete: string, at: string): boolean {
    const fits = !(made.definition.required && onDelete === 'setNull');
    if (!fits) this.#details[at] = 'A required foreign key cannot become null; give cascade or restrict.';
    return fits;
  }

  #sameReference(
    present: NewField,
    wanted: NonNullable<FieldFacts['references']>,
    definition: FieldDefinition,
    at: string,
  ): boolean {
    const { references } = present.facts;
    const same = references!.collection === wanted.collection && references!.field === wanted.field;
    if (!same)
      this.#details[`${at}foreignKey`] =
        `"${present.definition.name}" already names records of ${references!.collection}.`;
    else if (definition.onDelete && definition.onDelete !== references!.onDelete) {
      this.#details[`${at}onDelete`] = `"${present.definition.name}" already has ${references!.onDelete}.`;
    } else return true;
    return false;
  }

  /** A foreign key that was made stands before its relation. */
  #inDefinitionOrder(): NewField[] {
    const placed = new Set<string>();
    const result: NewField[] = [];
    const place = (name: string): void => {
      const field = this.#own.get(name);
      if (!field || placed.has(name)) return;
      placed.add(name);
      result.push(field);
    };
    for (const definition of this.#input.fields) {
      const relation = this.#own.get(definition.name)?.facts.relation;
      if (relation && relation.kind !== 'belongsToMany')
        place(relation.kind === 'belongsTo' ? relation.sourceField : relation.targetField);
      place(definition.name);
    }
    return result;
  }
}

function isRelation(definition: FieldDefinition): boolean {
  return fieldTypes.get(definition.type)?.relation ?? false;
}

import { type ErrorDetails, invalidDefinition } from '../protocol/api-error.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { typeOf } from '../schema/field-types.ts';
import type { JoinFields, Registry } from '../schema/registry.ts';
import { joinFields, type NewJoin } from './join-collection.ts';
import { type NewField, plainFacts, type References } from './new-field.ts';
import { storedFacts } from './stored-facts.ts';

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

/** A relation that is being worked out. */
export interface AskedRelation {
  readonly definition: FieldDefinition;
  /** How a detail names the field: `fields[2].`, or nothing for a single one. */
  readonly at: string;
}

/** A field of another collection. */
interface Abroad {
  readonly collection: string;
  readonly field: NewField;
}

/** The fields of a definition with their relations worked out, and the foreign keys they need in other collections. */
export interface Resolution {
  readonly own: readonly NewField[];
  readonly foreign: readonly Abroad[];
  /** Join collections that many-to-many relations need and nobody has made yet. */
  readonly joins: readonly NewJoin[];
  /** Fields that exist and become foreign keys, or unique ones. */
  readonly adopted: readonly Abroad[];
  /** Fields that are there already and become the key by which a relation names records. */
  readonly anchored: readonly { readonly collection: string; readonly name: string }[];
}

/** What is found, made and refused while the relations of a definition are worked out one by one. */
export class ResolutionDraft {
  readonly input: ResolveInput;
  readonly #details: Record<string, string> = {};
  readonly #own = new Map<string, NewField>();
  readonly #foreign: Abroad[] = [];
  readonly #joins = new Map<string, NewJoin>();
  readonly #adopted = new Map<string, Abroad>();
  readonly #anchored: { collection: string; name: string }[] = [];

  constructor(input: ResolveInput) {
    this.input = input;
  }

  /** @throws ApiError `DEFINITION_INVALID` with all that was refused. */
  finished(): Resolution {
    if (Object.keys(this.#details).length > 0) throw invalidDefinition(this.#details as ErrorDetails);
    const known = new Set(this.input.existing.map((each) => each.definition.name));
    return {
      own: this.#inDefinitionOrder().filter((each) => !known.has(each.definition.name)),
      foreign: this.#foreign,
      joins: [...this.#joins.values()],
      adopted: [...this.#adopted.values()],
      anchored: this.#anchored,
    };
  }

  /** @param at names the property. */
  refuse(at: string, problem: string): null {
    this.#details[at] = problem;
    return null;
  }

  /** Adds a field of the collection, or puts it into the place of what it was before. */
  add(field: NewField): void {
    this.#own.set(field.definition.name, field);
  }

  addAbroad(collection: string, field: NewField): void {
    this.#foreign.push({ collection, field });
  }

  addJoin(join: JoinFields, sides: readonly NewField[]): void {
    this.#joins.set(join.collection, joinFields(join, sides));
  }

  /** Fields of a join, also of one that is about to be made; null where there is none. */
  joinFields(name: string): readonly NewField[] | null {
    return this.fieldsOf(name) ?? this.#joins.get(name)?.fields ?? null;
  }

  /** The fields of a collection, also of the one that is being defined; null where there is none. */
  fieldsOf(name: string): readonly NewField[] | null {
    const { collection, existing, registry, core } = this.input;
    if (name === collection) return [...existing, ...this.#own.values()];
    const found = core ? registry.all().find((each) => each.name === name) : registry.find(name);
    const fields = found?.fields.map((field) => ({ definition: field.definition, facts: storedFacts(field) }));
    return fields ?? null;
  }

  /** A field as it is, or as this definition makes it. */
  find(collection: string, name: string): NewField | undefined {
    return (
      this.#adopted.get(`${collection}.${name}`)?.field ??
      this.fieldsOf(collection)?.find((each) => each.definition.name === name) ??
      this.madeAbroad(collection, name)
    );
  }

  madeAbroad(collection: string, name: string): NewField | undefined {
    return this.#foreign.find((each) => each.collection === collection && each.field.definition.name === name)?.field;
  }

  /** The key by which a relation names records: the primary one, or a unique field. */
  key(collection: string, name: string | undefined, at: string): NewField | null {
    const found = this.fieldsOf(collection)!.find((each) =>
      name === undefined ? each.definition.primaryKey : each.definition.name === name,
    );
    if (found?.definition.primaryKey) return found;
    if (found?.definition.unique) return this.#anchor(collection, found);
    return this.refuse(
      at,
      found
        ? `"${name}" is not unique, so it cannot be the key of a relation.`
        : `There is no field "${String(name).slice(0, 60)}".`,
    );
  }

  #anchor(collection: string, found: NewField): NewField {
    const { definition, facts } = found;
    if (facts.anchor || facts.core) return found;
    if (collection === this.input.collection && this.#own.has(definition.name))
      this.add({ definition, facts: { ...facts, anchor: true } });
    else this.#anchored.push({ collection, name: definition.name });
    return found;
  }

  /** A plain field becomes a foreign key: of one that is about to be made at once, of one that is there by a change. */
  adopt(collection: string, present: NewField, references: References, at: string): boolean {
    const { definition, facts } = present;
    if (facts.core || facts.kept) {
      this.refuse(`${at}foreignKey`, `"${definition.name}" is kept by the server and cannot be a foreign key.`);
      return false;
    }
    const indexed = definition.unique || definition.primaryKey ? definition : { ...definition, index: true };
    this.#replace(collection, { definition: indexed, facts: { ...facts, references } });
    return true;
  }

  /** A foreign key becomes unique, so that each record of its target is named by one record at most. */
  makeUnique(collection: string, name: string, at: string): boolean {
    const { definition, facts } = this.find(collection, name)!;
    if (definition.unique || definition.primaryKey) return true;
    if ((facts.core && !this.input.core) || facts.kept) {
      this.refuse(
        `${at}foreignKey`,
        `"${name}" of ${collection} is managed by the server and cannot become unique. Use another foreign key.`,
      );
      return false;
    }
    const { index: _, ...rest } = definition;
    this.#replace(collection, { definition: { ...rest, unique: true }, facts });
    return true;
  }

  /** Puts a field in the place of what it was: of one that is about to be made, or by a change of one that exists. */
  #replace(collection: string, field: NewField): void {
    const { name } = field.definition;
    const made = this.#foreign.findIndex(
      (each) => each.collection === collection && each.field.definition.name === name,
    );
    if (this.#own.has(name) && collection === this.input.collection) this.add(field);
    else if (made >= 0) this.#foreign[made] = { collection, field };
    else this.#adopted.set(`${collection}.${name}`, { collection, field });
  }

  /** A foreign key of the type of the key that it names. */
  foreignKey(name: string, key: NewField, relation: FieldDefinition): NewField {
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
    return { definition, facts: { ...plainFacts, base: name, core: this.input.core, hidden } };
  }

  /** Whether a field can be the foreign key of this key. */
  fits(made: NewField, key: NewField, onDelete: References['onDelete'], at: string): boolean {
    const { name, type } = made.definition;
    if (typeOf(made.definition).storage !== typeOf(key.definition).storage)
      this.refuse(`${at}foreignKey`, `"${name}" is ${type}, the key it names is ${key.definition.type}.`);
    else if (onDelete === 'setNull' && !mayBecomeNull(made.definition))
      this.refuse(`${at}onDelete`, `"${name}" cannot be null, so "onDelete" must be "cascade" or "restrict".`);
    else return true;
    return false;
  }

  /** Whether a foreign key names what the relation names, and falls as it says. */
  sameReference(present: NewField, wanted: References, { definition, at }: AskedRelation): boolean {
    const { name } = present.definition;
    const references = present.facts.references!;
    if (references.collection !== wanted.collection || references.field !== wanted.field)
      this.refuse(`${at}foreignKey`, `"${name}" already names records of ${references.collection}.`);
    else if (definition.onDelete && definition.onDelete !== references.onDelete)
      this.refuse(`${at}onDelete`, `"${name}" already has ${references.onDelete}.`);
    else return true;
    return false;
  }

  /** A foreign key that was made stands before its relation. */
  #inDefinitionOrder(): NewField[] {
    const names = this.input.fields.flatMap(({ name }) => {
      const relation = this.#own.get(name)?.facts.relation;
      if (!relation || relation.kind === 'belongsToMany') return [name];
      return [relation.kind === 'belongsTo' ? relation.sourceField : relation.targetField, name];
    });
    return [...new Set(names)].flatMap((name) => this.#own.get(name) ?? []);
  }
}

/** Whether a foreign key can lose its value. */
function mayBecomeNull({ required, allowNull, primaryKey }: FieldDefinition): boolean {
  return !required && allowNull !== false && !primaryKey;
}

/** What a relation does that does not say so: a foreign key that cannot become null keeps what it names. */
export function defaultOnDelete(key: FieldDefinition): References['onDelete'] {
  return mayBecomeNull(key) ? 'setNull' : 'restrict';
}

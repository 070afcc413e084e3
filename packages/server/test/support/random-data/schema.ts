import type { CollectionModel, FieldModel, RelationModel, TypeName } from '../oracle/model.ts';
import { isScalar } from '../oracle/values.ts';
import type { Draw } from './draw.ts';

/** Collections of one dataset, with the definitions that create them. */
export interface RandomSchema {
  /** In the order in which their records can be created, without join collections. */
  readonly collections: readonly CollectionModel[];
  readonly joins: readonly CollectionModel[];
  readonly definitions: readonly object[];
}

const types: readonly TypeName[] = [
  'string',
  'string',
  'text',
  'email',
  'integer',
  'bigInt',
  'float',
  'double',
  'decimal',
  'boolean',
  'date',
  'time',
  'datetime',
  'datetime',
  'json',
  'array',
  'select',
  'selects',
  'uid',
  'password',
];
const keyTypes: readonly TypeName[] = ['integer', 'integer', 'integer', 'string', 'bigInt'];
const kinds: readonly RelationModel['kind'][] = [
  'belongsTo',
  'belongsTo',
  'hasOne',
  'hasMany',
  'belongsToMany',
  'belongsToMany',
];

/** Only foreign keys have such names. */
export function isForeignKey({ name }: FieldModel): boolean {
  return /^k\d/.test(name);
}

/** A collection that is being built. */
interface Draft {
  readonly name: string;
  readonly key: FieldModel;
  /** A unique field that relations may use instead of the primary key. */
  readonly code: FieldModel;
  readonly fields: FieldModel[];
  readonly relations: RelationModel[];
  readonly definitions: object[];
  readonly paranoid: boolean;
}

/** @param prefix of the names of all collections. */
export function makeRandomSchema(draw: Draw, prefix: string): RandomSchema {
  const drafts = draw.times(2, 4, (index) => draft(draw, `${prefix}${'abcd'[index]}`));
  const joins: CollectionModel[] = [];
  draw.times(2, 6, (index) => addRelation(draw, drafts, joins, `${prefix}j${index}`, index));
  return {
    collections: drafts.map(({ name, key, fields, relations, paranoid }) => ({
      name,
      key: key.name,
      fields: paranoid ? [...fields, { name: 'deletedAt', type: 'datetime' }] : fields,
      relations,
      paranoid,
    })),
    joins,
    definitions: drafts.map(({ name, definitions, paranoid }) => ({
      name,
      fields: definitions,
      options: { timestamps: false, paranoid },
    })),
  };
}

function draft(draw: Draw, name: string): Draft {
  const keyType = draw.pick(keyTypes);
  const key: FieldModel = { name: keyType === 'integer' ? 'id' : 'key', type: keyType };
  const code: FieldModel = { name: 'code', type: draw.pick(['string', 'integer'] as const) };
  const plain = draw.times(1, 6, (index): FieldModel => ({ name: `f${index}`, type: draw.pick(types) }));
  return {
    name,
    key,
    code,
    fields: [key, code, ...plain],
    relations: [],
    definitions: [
      ...(keyType === 'integer' ? [] : [{ name: key.name, type: keyType, primaryKey: true }]),
      { name: code.name, type: code.type, unique: true },
      ...plain.map((field) => ({ ...writeDefinition(field), index: isScalar(field.type) && draw.chance(25) })),
    ],
    paranoid: draw.chance(35),
  };
}

function writeDefinition({ name, type }: FieldModel): object {
  if (type === 'select') return { name, type, enum: ['x', 'y', 'Z'] };
  if (type === 'selects') return { name, type: 'select', enum: ['x', 'y', 'Z'], multiple: true };
  return type === 'decimal' ? { name, type, precision: 18, scale: 2 } : { name, type };
}

function addRelation(
  draw: Draw,
  drafts: readonly Draft[],
  joins: CollectionModel[],
  join: string,
  index: number,
): void {
  const source = draw.pick(drafts);
  const target = draw.pick(drafts);
  const name = `r${index}`;
  const kind = draw.pick(kinds);
  if (kind === 'belongsToMany') {
    addMany(draw, name, source, target, joins, join);
    return;
  }
  const [holder, named] = kind === 'belongsTo' ? [source, target] : [target, source];
  const by = draw.chance(35) ? named.code : named.key;
  const foreignKey = `k${index}`;
  holder.fields.push({ name: foreignKey, type: by.type });
  const own = kind === 'belongsTo' ? foreignKey : by.name;
  const theirs = kind === 'belongsTo' ? by.name : foreignKey;
  add(
    source,
    { name, kind, target: target.name, sourceField: own, targetField: theirs, through: null },
    {
      foreignKey,
      ...(kind === 'belongsTo' ? { targetKey: by.name } : { sourceKey: by.name }),
    },
  );
  if (draw.chance(40)) addInverse(draw, name, kind, holder, named, foreignKey, by);
}

/** Adds a relation that uses the same foreign key from its other side, or a second one from the same side. */
function addInverse(
  draw: Draw,
  name: string,
  kind: RelationModel['kind'],
  holder: Draft,
  named: Draft,
  foreignKey: string,
  by: FieldModel,
): void {
  if (kind !== 'belongsTo' || draw.chance(25)) {
    // A foreign key that a hasOne relation will share must be unique from the start.
    if (kind === 'hasOne') holder.definitions.push({ name: foreignKey, type: by.type, unique: true });
    const relation = { name: `${name}b`, kind: 'belongsTo', target: named.name, sourceField: foreignKey } as const;
    add(holder, { ...relation, targetField: by.name, through: null }, { foreignKey, targetKey: by.name });
    return;
  }
  const relation = { name: `${name}s`, kind: 'hasMany', target: holder.name, sourceField: by.name } as const;
  add(named, { ...relation, targetField: foreignKey, through: null }, { foreignKey, sourceKey: by.name });
}

function addMany(draw: Draw, name: string, source: Draft, target: Draft, joins: CollectionModel[], join: string): void {
  const own = draw.chance(30) ? source.code : source.key;
  const theirs = draw.chance(30) ? target.code : target.key;
  const through = { collection: join, sourceField: 'fromKey', targetField: 'toKey' };
  joins.push({
    name: join,
    key: 'id',
    fields: [
      { name: 'id', type: 'integer' },
      { name: 'fromKey', type: own.type },
      { name: 'toKey', type: theirs.type },
    ],
    relations: [],
    paranoid: false,
  });
  const shared = { through: join, foreignKey: 'fromKey', otherKey: 'toKey' };
  const keys = { sourceKey: own.name, targetKey: theirs.name };
  const relation = { name, kind: 'belongsToMany', target: target.name } as const;
  add(source, { ...relation, sourceField: own.name, targetField: theirs.name, through }, { ...shared, ...keys });
  if (!draw.chance(40)) return;
  const back = { collection: join, sourceField: 'toKey', targetField: 'fromKey' };
  const inverse = { name: `${name}s`, kind: 'belongsToMany', target: source.name, through: back } as const;
  const turned = {
    through: join,
    foreignKey: 'toKey',
    otherKey: 'fromKey',
    sourceKey: theirs.name,
    targetKey: own.name,
  };
  add(target, { ...inverse, sourceField: theirs.name, targetField: own.name }, turned);
}

function add(source: Draft, relation: RelationModel, options: object): void {
  source.relations.push(relation);
  source.definitions.push({ name: relation.name, type: relation.kind, target: relation.target, ...options });
}

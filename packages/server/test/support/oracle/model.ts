/** The model of a schema and its data that the oracle uses: plain values in the canonical form of the API. */

export type TypeName =
  | 'string'
  | 'text'
  | 'email'
  | 'integer'
  | 'bigInt'
  | 'float'
  | 'double'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'time'
  | 'datetime'
  | 'json'
  | 'array'
  | 'select'
  | 'selects'
  | 'uid'
  | 'password';

export interface FieldModel {
  readonly name: string;
  readonly type: TypeName;
}

export interface RelationModel {
  readonly name: string;
  readonly kind: 'belongsTo' | 'hasOne' | 'hasMany' | 'belongsToMany';
  readonly target: string;
  /**
   * The fields of the source and the target that have the same value; with `through`, the fields are linked by a record
   * of the join collection.
   */
  readonly sourceField: string;
  readonly targetField: string;
  readonly through: { readonly collection: string; readonly sourceField: string; readonly targetField: string } | null;
}

export interface CollectionModel {
  readonly name: string;
  /** The name of the primary key. */
  readonly key: string;
  readonly fields: readonly FieldModel[];
  readonly relations: readonly RelationModel[];
  readonly paranoid: boolean;
}

export type Row = Readonly<Record<string, unknown>>;
export type Filter = Readonly<Record<string, unknown>>;

export interface Dataset {
  readonly collections: ReadonlyMap<string, CollectionModel>;
  /** Records by collection, including those of join collections and those in the trash. */
  readonly rows: ReadonlyMap<string, readonly Row[]>;
}

export function getCollection(world: Dataset, name: string): CollectionModel {
  return world.collections.get(name)!;
}

export function getRows(world: Dataset, name: string): readonly Row[] {
  return world.rows.get(name) ?? [];
}

export function findField(collection: CollectionModel, name: string): FieldModel | undefined {
  return collection.fields.find((field) => field.name === name);
}

export function findRelation(collection: CollectionModel, name: string): RelationModel | undefined {
  return collection.relations.find((relation) => relation.name === name);
}

export function isMany({ kind }: RelationModel): boolean {
  return kind === 'hasMany' || kind === 'belongsToMany';
}

export function isTrashed(row: Row): boolean {
  return (row['deletedAt'] ?? null) !== null;
}

/** The records outside the trash that a relation refers to, for any caller. */
export function relatedRows(world: Dataset, row: Row, relation: RelationModel): Row[] {
  const own = row[relation.sourceField];
  if (own === null || own === undefined) return [];
  const { through, target, targetField } = relation;
  const live = getRows(world, target).filter((each) => !isTrashed(each));
  if (through === null) return live.filter((each) => each[targetField] === own);
  const links = getRows(world, through.collection).filter((link) => link[through.sourceField] === own);
  return live.filter((each) => links.some((link) => link[through.targetField] === each[targetField]));
}

/** The first step of a dotted path, and the rest of it. */
export function splitPath(path: string): [first: string, rest: string | null] {
  const dot = path.indexOf('.');
  return dot < 0 ? [path, null] : [path.slice(0, dot), path.slice(dot + 1)];
}

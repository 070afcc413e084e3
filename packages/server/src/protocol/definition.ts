/** The definition of a field as on the wire, with its options flattened. Unknown properties have been refused. */
export interface FieldDefinition {
  readonly name: string;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly uiSchema?: Readonly<Record<string, unknown>>;
  readonly required?: boolean;
  readonly unique?: boolean;
  readonly index?: boolean;
  /** The text of the field has a search index, as with {@link CollectionOptions.search}. */
  readonly searchIndex?: boolean;
  readonly allowNull?: boolean;
  readonly defaultValue?: unknown;
  readonly primaryKey?: boolean;
  readonly autoIncrement?: boolean;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
  readonly precision?: number;
  readonly scale?: number;
  readonly enum?: readonly string[];
  readonly multiple?: boolean;
  /** Media types of files. */
  readonly accept?: readonly string[];
  /** Bytes of a file. */
  readonly maxSize?: number;
  /** Number of files. */
  readonly maxCount?: number;
  readonly dateOnly?: boolean;
  readonly autoNow?: boolean;
  readonly autoNowAdd?: boolean;
  readonly target?: string;
  readonly foreignKey?: string;
  readonly otherKey?: string;
  readonly sourceKey?: string;
  readonly targetKey?: string;
  readonly through?: string;
  readonly scopeKey?: string;
  readonly onDelete?: 'setNull' | 'cascade' | 'restrict';
}

export interface IndexDefinition {
  readonly fields: readonly string[];
  readonly unique?: boolean;
  /** Only of system collections: the index only contains records in which this field is not null. */
  readonly present?: string;
}

export interface CollectionOptions {
  readonly timestamps: boolean;
  readonly paranoid: boolean;
  readonly logging: boolean;
  readonly authors: boolean;
  readonly indexes?: readonly IndexDefinition[];
  /** Fields whose text has a search index. */
  readonly search?: readonly string[];
}

/** The definition of a collection in a request, checked and completed. */
export interface CollectionDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly fields: readonly FieldDefinition[];
  readonly options: CollectionOptions;
}

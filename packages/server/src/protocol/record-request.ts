/** How the total of a list is computed: exactly (up to a maximum), estimated, or not at all. */
export type CountMode = 'exact' | 'estimated' | 'none';

/** One term of `sort`: a dotted path and its direction. */
export interface SortTerm {
  readonly path: string;
  readonly descending: boolean;
}

/**
 * A parsed filter. Its names are not resolved yet, and its values are replaced by slots.
 *
 * Two filters have the same `shape` if and only if they only differ in values, so compiled plans are cached by shape.
 */
export type ParsedFilter =
  | { readonly kind: 'all'; readonly of: readonly ParsedFilter[] }
  | { readonly kind: 'any'; readonly of: readonly ParsedFilter[] }
  | { readonly kind: 'not'; readonly of: ParsedFilter }
  | { readonly kind: 'at'; readonly path: readonly string[]; readonly of: ParsedFilter }
  | { readonly kind: 'test'; readonly operator: string; readonly operand: ParsedOperand };

/** The operand of a condition: its slot in {@link RecordRequest.values}, and its form, which is part of the shape. */
export interface ParsedOperand {
  readonly slot: number;
  readonly form: 'null' | 'scalar' | 'list' | 'true' | 'false';
}

/** A record request in its normalised form. Its names are not checked against the schema. */
export interface RecordRequest {
  /** Equal for requests that only differ in values: the key under which plans are cached. */
  readonly shape: string;
  readonly filterByTk: unknown;
  readonly filter: ParsedFilter | null;
  readonly values: readonly unknown[];
  /** True if the values were given in the query string with brackets, so that "5" may be a number. */
  readonly valuesAreText: boolean;
  readonly fields: readonly string[] | null;
  readonly except: readonly string[] | null;
  readonly appends: readonly string[];
  readonly sort: readonly SortTerm[];
  readonly page: number;
  readonly pageSize: number | null;
  readonly paginate: boolean;
  readonly count: CountMode;
  readonly after: string | null;
  readonly versions: boolean;
  readonly cascade: boolean;
  /** Whether soft-deleted records are omitted, included, or the only ones that are shown. */
  readonly trash: 'without' | 'with' | 'only';
  /** Fields that are taken from a body (null: all), and fields that are ignored in it. */
  readonly whitelist: readonly string[] | null;
  readonly blacklist: readonly string[];
  /** Relations whose existing records a body may change. */
  readonly updateAssociationValues: readonly string[];
  /** Fields by which `firstOrCreate` and `updateOrCreate` find a record. */
  readonly filterKeys: readonly string[];
  /** The write is executed and rolled back; the reply shows its result. */
  readonly dryRun: boolean;
  /** Text that one of the fields must contain, by the slot of its value. `fields` null: all searchable fields. */
  readonly search: { readonly slot: number; readonly fields: readonly string[] | null } | null;
  /**
   * A full-text search of mail: the slot of the expression in the syntax of the engine, which is never text of a
   * caller.
   */
  readonly fullText: {
    readonly slot: number /** The search consists of single whole words, without phrases. */;
    readonly plain: boolean;
  } | null;
  /** Folders that must contain the e-mails, or must not, by the slots of their names; set by the server only. */
  readonly folders: readonly { readonly slot: number; readonly not: boolean }[];
  /** The relation of one record, if only the records that it references are requested. */
  readonly within: { readonly collection: string; readonly relation: string; readonly key: unknown } | null;
  /** A destroyed record is deleted permanently, even if the collection has a trash. */
  readonly force: boolean;
}

/** How the total of a list is found: exactly (to a bound), roughly, or not at all. */
export type CountMode = 'exact' | 'estimated' | 'none';

/** One term of `sort`: a dotted path and its direction. */
export interface SortTerm {
  readonly path: string;
  readonly descending: boolean;
}

/**
 * A filter as it was asked: names not yet checked, every value taken out and numbered.
 *
 * The `shape` of two filters is equal exactly if they differ in values alone, so a compiled plan can be found by it.
 */
export type ParsedFilter =
  | { readonly kind: 'all'; readonly of: readonly ParsedFilter[] }
  | { readonly kind: 'any'; readonly of: readonly ParsedFilter[] }
  | { readonly kind: 'not'; readonly of: ParsedFilter }
  | { readonly kind: 'at'; readonly path: readonly string[]; readonly of: ParsedFilter }
  | { readonly kind: 'test'; readonly operator: string; readonly operand: ParsedOperand };

/** The operand of a condition: its slot in {@link RecordRequest.values}, and what the shape depends on. */
export interface ParsedOperand {
  readonly slot: number;
  readonly form: 'null' | 'scalar' | 'list' | 'true' | 'false';
}

/** A record request in its one normal form, whatever spelling it came in. Nothing in it is checked against a schema. */
export interface RecordRequest {
  /** Equal for requests that differ in values alone: the key under which plans are kept. */
  readonly shape: string;
  readonly filterByTk: unknown;
  readonly filter: ParsedFilter | null;
  readonly values: readonly unknown[];
  /** True where the values came as bracket text, so that "5" may stand for a number. */
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
  /** Destroyed records that are kept: left out, shown too, or shown alone. */
  readonly trash: 'without' | 'with' | 'only';
  /** Names that a body may hold, null for all; names that are dropped from it. */
  readonly whitelist: readonly string[] | null;
  readonly blacklist: readonly string[];
  /** Relations whose records that are there already a body may change. */
  readonly updateAssociationValues: readonly string[];
  /** Fields by which firstOrCreate and updateOrCreate find a record. */
  readonly filterKeys: readonly string[];
  /** All of it runs, the reply says what would be, and all of it is taken back. */
  readonly dryRun: boolean;
  /** Text that one of the fields must hold, by the slot of its value; `fields` null: all that may be searched. */
  readonly search: { readonly slot: number; readonly fields: readonly string[] | null } | null;
  /** Words that the index of mail is asked for, as its engine writes them, by the slot of the text; never what a caller sent. */
  readonly fullText: { readonly slot: number /** Single whole words, no phrases. */; readonly plain: boolean } | null;
  /** Folders in which e-mails lie, or do not, by the slots of their names; never what a caller sent. */
  readonly folders: readonly { readonly slot: number; readonly not: boolean }[];
  /** Where records are asked for as the relation of one: the records that it names alone. */
  readonly within: { readonly collection: string; readonly relation: string; readonly key: unknown } | null;
  /** A destroyed record is removed, whether or not the collection keeps a trash. */
  readonly force: boolean;
}

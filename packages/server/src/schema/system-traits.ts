/**
 * The special behaviour of a system collection, besides its fields. Its definition specifies it; access, queries,
 * grants, links and migration read it here instead of comparing names. A user-defined collection has {@link noTraits}.
 *
 * Folders further down in the order of imports add members by declaration merging, see records/record-rules.ts.
 */
export interface SystemTraits {
  /** Which of its records a user can see. Absent: only the permissions decide. */
  readonly visibility?: Visibility;
  /**
   * Records are only visible with the record that a relation refers to: every grant on the collection includes the rows that the
   * caller may get of the other one. Without that permission there is no grant.
   */
  readonly visibleWith?: { readonly relation: string; readonly collection: string };
  /** Records with this value are being deleted in the background, so reads omit them. */
  readonly hiddenWhile?: { readonly field: string; readonly value: unknown };
  /** The server creates the records from external data, so required fields cannot be added. */
  readonly importedOnly?: boolean;
  /** Names that have another meaning in bodies or replies, so no field with such a name can be added. */
  readonly reservedNames?: ReadonlySet<string>;
  /** An internal collection that only callers who may get records of this collection can read. */
  readonly readableWith?: string;
  /**
   * Of a collection with {@link readableWith}: fields that repeat fields of the other collection. A role needs all of these to read
   * the field.
   */
  readonly deniedWith?: Readonly<Record<string, readonly string[]>>;
  /**
   * The full-text index contains the records: in entries of their own (null), or in those of the records to which this
   * relation refers.
   */
  readonly fullText?: { readonly through: string | null };
  /** Changes by a cascade are not administrative actions, so the audit journal does not record them. */
  readonly hasUnauditedCascades?: boolean;
  /**
   * Verbs of the collection's events that contain a payload instead of the record. Webhooks receive them without acting
   * for a user, so the payload must not reveal what {@link visibility} hides.
   */
  readonly notices?: readonly string[];
  /**
   * The first word of further events about records of the collection (`campaign.sent`). They contain a payload, as {@link notices}
   * do. Only callers who can see the record receive them.
   */
  readonly eventPrefix?: string;
  /** The permissions of the built-in roles on the records in a new application: actions by the name of the role. */
  readonly builtInPermissions?: Readonly<Record<string, readonly string[]>>;
}

/** A filter that is part of every grant on a collection, whatever the permission contains. */
export interface Visibility {
  /** The syntax is that of the filter of a permission. @example `{ seenBy: { userId: '{{$user.id}}' } }` */
  readonly filter: Readonly<Record<string, unknown>>;
  /** Whether it also applies to roles that need no permission (admin, `allowConfigure`). */
  readonly bindsAdministrators: boolean;
}

/** The traits of a collection that has none. */
export const noTraits: SystemTraits = {};

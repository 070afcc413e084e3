/**
 * What is special about a system collection, besides its fields. Its definition says so; access, queries, grants, links and
 * migration read it here instead of comparing names. A user-defined collection has {@link noTraits}.
 *
 * Layers above this one add members by declaration merging, see records/record-rules.ts.
 */
export interface SystemTraits {
  /** Which of its records a user can see at all. Absent: the permissions alone decide. */
  readonly visibility?: Visibility;
  /** Records with this value are being deleted in the background: reads pass over them. */
  readonly hiddenWhile?: { readonly field: string; readonly value: unknown };
  /** The server creates the records from outside data, so a field that clients must fill cannot be added. */
  readonly importedOnly?: boolean;
  /** Names that stand for something else in bodies or replies, so that no field can be added under them. */
  readonly reservedNames?: ReadonlySet<string>;
  /** An internal collection that is readable by whoever may get records of this collection, and by nobody else. */
  readonly readableWith?: string;
  /** Found by the full-text index: by its own entries (null), or by those of the records that this relation leads to. */
  readonly fullText?: { readonly through: string | null };
  /** Changes by a cascade are everyday work, not administration: the audit journal does not record them. */
  readonly hasUnauditedCascades?: boolean;
  /** What the built-in roles may do with the records from the start: actions by the name of the role. */
  readonly builtInPermissions?: Readonly<Record<string, readonly string[]>>;
}

/** A filter that every grant on a collection carries, whatever the permission says. */
export interface Visibility {
  /** Written like the filter of a permission. @example `{ seenBy: { userId: '{{$user.id}}' } }` */
  readonly filter: Readonly<Record<string, unknown>>;
  /** Whether it also holds for roles that need no permission (admin, `allowConfigure`). */
  readonly bindsAdministrators: boolean;
}

/** The traits of a collection that has none. */
export const noTraits: SystemTraits = {};

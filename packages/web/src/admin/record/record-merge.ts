/** Merges a draft with the version that somebody else has saved meanwhile. */
import type { Field, RecordValues, RecordWithEtag } from '@tablinum/client';
import { getWriteName } from '../../data/field-names.ts';
import type { RecordDraft } from './record-draft.ts';

/** The result of a save of an outdated version: the newer record, and the fields that both sides changed. */
export interface StaleDraft {
  readonly theirs: RecordWithEtag<RecordValues>;
  readonly fields: readonly Field[];
}

/** The fields of the draft whose value in `theirs` differs from the value that the draft began with. */
export function findConflictingFields(
  fields: readonly Field[],
  draft: RecordDraft,
  base: RecordValues,
  theirs: RecordValues,
): Field[] {
  const differs = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other);
  return fields.filter((field) => {
    const name = getWriteName(field);
    return name in draft.changes && differs(base[name], theirs[name]) && differs(draft.changes[name], theirs[name]);
  });
}

/** The draft without the fields in which the other side's value is kept. */
export function acceptTheirs(draft: RecordDraft, fields: readonly Field[]): RecordDraft {
  const names = new Set(fields.flatMap((field) => [field.name, getWriteName(field)]));
  const rest = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)));
  return { changes: rest(draft.changes), linked: rest(draft.linked) };
}

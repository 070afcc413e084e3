/** The meaning of a relation from either side: which records point to which, and which existing links it can use. */
import type { Collection, Field } from '@tablinum/client';
import type { FieldDraft } from './field-draft.ts';

/** An existing link that a new relation can use from the other side. */
export interface ExistingLink {
  /** Identifies the entry. */
  readonly id: string;
  /** The field of the other collection that defines the link. */
  readonly field: Field;
  /** The options with which a new relation uses this link. */
  readonly options: FieldDraft['options'];
}

/** The relations of the target collection that lead to this collection. */
export function findExistingLinks(
  type: string,
  collectionName: string,
  target: Collection | undefined,
): readonly ExistingLink[] {
  if (!target || type === 'belongsTo') return [];
  const inverse = type === 'belongsToMany' ? 'belongsToMany' : 'belongsTo';
  return target.fields
    .filter((field) => field.type === inverse && field.target === collectionName)
    .map((field) => ({ id: field.name, field, options: buildLinkOptions(field) }));
}

function buildLinkOptions(field: Field): FieldDraft['options'] {
  const { foreignKey = '', otherKey = '', sourceKey, targetKey, through = '' } = field;
  if (field.type === 'belongsTo') return { foreignKey, ...(targetKey && { sourceKey: targetKey }) };
  return {
    through,
    foreignKey: otherKey,
    otherKey: foreignKey,
    ...(targetKey && { sourceKey: targetKey }),
    ...(sourceKey && { targetKey: sourceKey }),
  };
}

/** The options that select the link of a relation. */
export const linkOptions = ['foreignKey', 'otherKey', 'sourceKey', 'targetKey', 'through'] as const;

/** The collection whose records hold the key, and the one that they point to. */
export function resolveSides(
  type: string,
  collectionName: string,
  target: string,
): { readonly child: string; readonly parent: string } {
  return type === 'belongsTo' ? { child: collectionName, parent: target } : { child: target, parent: collectionName };
}

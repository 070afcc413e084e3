/** Who may receive events: those about records of a collection, and published ones. */
import type { Grant } from '../query/grant.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';

/**
 * The collection whose records are the subject of events with this first word, if the word is its event prefix and not
 * its name; null for other words.
 */
export function findPrefixedCollection({ registry }: Pick<RecordContext, 'registry'>, word: string): Collection | null {
  for (const [name, { eventPrefix }] of registry.systemTraits) if (eventPrefix === word) return registry.find(name);
  return null;
}

/**
 * The grant to receive the events of a resource, which is the grant to get its records. For a word such as `campaign`,
 * the grant to get the records of its events also suffices.
 */
export function findEventGrant(context: RecordContext, resource: string): Grant | null {
  const own = context.findGrant(resource, 'get');
  if (own || context.registry.find(resource)) return own;
  const about = findPrefixedCollection(context, resource);
  return about && context.findGrant(about.name, 'get');
}

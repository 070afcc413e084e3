import type { ChangeLog } from '../changes/change-log.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { RecordContext } from '../records/record-context.ts';
import { systemResources } from '../schema/names.ts';

/** First words of published events that the web interface listens to before anybody has published one. */
const systemEventPrefixes: ReadonlySet<string> = new Set(['campaign']);

/**
 * Refuses a resource that has no events: neither a collection, nor a system resource, nor the first word of published
 * events. Such a word is known if a permission of some role names it, or if one of the newest events has it. The
 * permission is checked before, so that callers without it cannot find out which resources exist.
 *
 * @throws ApiError `COLLECTION_UNKNOWN`.
 */
export async function requireKnownResource(
  { registry, access }: RecordContext,
  changes: ChangeLog,
  resource: string,
): Promise<void> {
  if (registry.find(resource) || systemResources.has(resource) || systemEventPrefixes.has(resource)) return;
  const isNamed = [...access.roles.values()].some((role) => role.permissions.some((row) => row.resource === resource));
  if (resource !== '*' && (isNamed || (await changes.hasRecent(resource)))) return;
  throw new ApiError(
    'COLLECTION_UNKNOWN',
    `"resource" names "${resource.slice(0, 60)}", which does not exist. Subscribe to a collection, to *, or to the first word of published events, once one was published or a permission names the word.`,
  );
}

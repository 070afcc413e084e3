/** Patterns of event names that a subscriber wants: `orders.created`, `orders.*`, or `*` for all. */

/** The verbs of the server's own events, about records and definitions. */
export const eventVerbs = ['created', 'updated', 'destroyed', 'restored'] as const;

const namePattern = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;
const definitionResources = new Set(['collections', 'fields']);

/** Whether one of the patterns matches the name of an event. */
export function matchesEvent(patterns: readonly string[], name: string): boolean {
  return patterns.some(
    (each) => each === '*' || each === name || (each.endsWith('.*') && name.startsWith(each.slice(0, -1))),
  );
}

/** The resource whose events a pattern names; null for `*`. */
export function parsePatternResource(pattern: string): string | null {
  return pattern === '*' ? null : pattern.slice(0, pattern.indexOf('.'));
}

/**
 * The reason why a pattern is refused, with the cure; null if it is valid.
 *
 * A name whose first part is not a collection may be an event that the application publishes (`campaign.sent`). If it
 * ends with the verb of a record event, it is considered a mistake.
 *
 * @param findNotices returns the verbs of a collection's events other than {@link eventVerbs}; null if the collection
 * does not exist.
 */
export function patternProblem(
  pattern: unknown,
  findNotices: (name: string) => readonly string[] | null,
): string | null {
  if (pattern === '*') return null;
  const [resource = '', verb = '', more] = typeof pattern === 'string' ? pattern.split('.') : [];
  if (more !== undefined || !namePattern.test(resource) || !(verb === '*' || namePattern.test(verb)))
    return 'Give names such as "orders.created", patterns such as "orders.*", or "*" for all events.';
  const isVerb = (eventVerbs as readonly string[]).includes(verb);
  const notices = findNotices(resource);
  if (notices || definitionResources.has(resource))
    return isVerb || verb === '*' || notices?.includes(verb)
      ? null
      : `Events of records end in ${[...eventVerbs, ...(notices ?? [])].join(', ')}; "${verb}" is not one of them.`;
  return isVerb || verb === '*' ? `There is no collection "${resource}".` : null;
}

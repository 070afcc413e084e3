/** The names of events that somebody wants to hear of: `orders.created`, `orders.*`, or `*` for all. */

/** What happens to records and definitions. */
export const eventVerbs = ['created', 'updated', 'destroyed', 'restored'] as const;

const namePattern = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;
const definitionResources = new Set(['collections', 'fields']);

/** Whether an event of that name is meant. */
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
 * What is wrong with a pattern, with the cure; null: nothing.
 *
 * A name whose first word is no collection may stand for an event of the application's own (`campaign.sent`); with the
 * verb of a record it is taken for a slip of the pen.
 */
export function patternProblem(pattern: unknown, isCollection: (name: string) => boolean): string | null {
  if (pattern === '*') return null;
  const [resource = '', verb = '', more] = typeof pattern === 'string' ? pattern.split('.') : [];
  if (more !== undefined || !namePattern.test(resource) || !(verb === '*' || namePattern.test(verb)))
    return 'Give names such as "orders.created", patterns such as "orders.*", or "*" for all events.';
  const isVerb = (eventVerbs as readonly string[]).includes(verb);
  if (isCollection(resource) || definitionResources.has(resource))
    return isVerb || verb === '*' ? null : `Records are ${eventVerbs.join(', ')}; "${verb}" is none of it.`;
  return isVerb || verb === '*' ? `There is no collection "${resource}".` : null;
}

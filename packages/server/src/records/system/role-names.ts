import { invalidDefinition } from '../../protocol/api-error.ts';
import type { RecordContext } from '../record-context.ts';

/** Names of roles that exist, from `"editor"`, `{"name": "editor"}` or lists of those. */
export function parseRoleNames(input: unknown, errorPath: string, context: RecordContext): string[] {
  const list = Array.isArray(input) ? input : [input];
  return [...new Set(list.map((each) => parseRoleName(each, errorPath, context)))];
}

export function parseRoleName(input: unknown, errorPath: string, context: RecordContext): string {
  const name = input !== null && typeof input === 'object' ? (input as { name?: unknown }).name : input;
  if (typeof name !== 'string' || name === '')
    throw invalidDefinition({ [errorPath]: 'Give the name of a role, or {"name": "…"}.' });
  if (!context.access.roles.has(name))
    throw invalidDefinition({ [errorPath]: `There is no role "${name.slice(0, 60)}".` });
  return name;
}

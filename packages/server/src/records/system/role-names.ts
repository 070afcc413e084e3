import { invalidDefinition } from '../../protocol/api-error.ts';
import type { RecordContext } from '../record-context.ts';

/** The names of existing roles in `"editor"`, `{"name": "editor"}`, or a list of them. @throws ApiError 422. */
export function parseRoleNames(input: unknown, errorPath: string, context: RecordContext): string[] {
  const list = Array.isArray(input) ? input : [input];
  return [...new Set(list.map((each) => parseRoleName(each, errorPath, context)))];
}

/** The name of an existing role in `"editor"` or `{"name": "editor"}`. @throws ApiError 422 with a detail at `errorPath`. */
export function parseRoleName(input: unknown, errorPath: string, context: RecordContext): string {
  const name = input !== null && typeof input === 'object' ? (input as { name?: unknown }).name : input;
  if (typeof name !== 'string' || name === '')
    throw invalidDefinition({ [errorPath]: 'Give the name of a role, or {"name": "…"}.' });
  if (!context.access.roles.has(name))
    throw invalidDefinition({ [errorPath]: `The role "${name.slice(0, 60)}" does not exist.` });
  return name;
}

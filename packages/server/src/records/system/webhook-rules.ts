import { adminRole } from '../../access/access-table.ts';
import { grantsOf } from '../../access/grants.ts';
import { secretProblem } from '../../base/webhook-secret.ts';
import { patternProblem, resourceOf } from '../../changes/event-pattern.ts';
import { environmentOf, type Transaction } from '../../database/database.ts';
import { startWebhook } from '../../database/outbox-position.ts';
import { findWebhook, rolesOfWebhooks, type StoredWebhook, setSecret, webhookIn } from '../../database/webhook-rows.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { normaliseFilter } from '../../protocol/filter-normaliser.ts';
import { isObject } from '../../protocol/json-text.ts';
import { checkRows, planFilter } from '../../query/filter-plan.ts';
import { jsonSizeProblem } from '../../schema/definition-details.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';
import { roleName } from './role-names.ts';

/** Told by the server; passed over, so that a record that was read can be sent back whole. */
const told = new Set(['failingSince', 'pausedAt', 'pausedFor', 'deliveries']);
const mostEvents = 50;

/**
 * Webhooks: checked whole on save. A webhook carries out of the house what its role may read, so whoever names the role,
 * or changes where it goes, holds that role or is admin. The secret goes in and never comes out.
 */
export const webhookRules: RecordRules = {
  access: true,

  async prepare(body, key, context): Promise<RuledBody> {
    if (!isObject(body)) return { body: body as Body };
    const { secret, ...rest } = Object.fromEntries(Object.entries(body).filter(([name]) => !told.has(name)));
    if ('roleOf' in rest) throw invalidDefinition({ roleOf: 'Name the role by "role".' });
    const present = key === null ? null : await presentOf(key, context);
    const row: Record<string, unknown> = { ...rest };
    if (key === null || 'role' in row) row['role'] = heldRole(row['role'], context);
    if (key === null) check(row, secret, true, context);
    const starts = row['enabled'] === true ? !present?.enabled : key === null && row['enabled'] === undefined;
    const beside = async (transaction: Transaction, id: unknown): Promise<void> => {
      // As the webhook that the change makes, and not before: one that is out of reach tells nothing of itself.
      if (key !== null) check(await webhookIn(context.database, transaction, id), secret, false, context);
      if (secret !== undefined && secret !== null)
        await setSecret(context.database, transaction, id, context.webhooks.seal(secret as string));
      if (starts) await startWebhook(context.database, transaction, id);
    };
    return { body: row, beside };
  },

  async guard(transaction, action, keys, _body, context): Promise<void> {
    if (action === 'destroy') return;
    for (const role of await rolesOfWebhooks(context.database, transaction, keys)) requireHeld(role, context);
  },
};

/** What is changed, for whether this starts it. */
async function presentOf(key: unknown, { database }: RecordContext): Promise<StoredWebhook | null> {
  if (typeof key !== 'number')
    throw new ApiError('PARAMETER_INVALID', 'Webhooks are updated one at a time, by filterByTk.');
  return findWebhook(database, key);
}

function heldRole(input: unknown, context: RecordContext): string {
  const role = roleName(input, 'role', context);
  requireHeld(role, context);
  return role;
}

/** @throws ApiError 403 unless the caller holds the role that a webhook acts as, or is admin. */
export function requireHeld(role: string, { caller }: RecordContext): void {
  if (caller.role === adminRole || caller.roles.includes(role)) return;
  throw new ApiError('ROLE_NOT_HELD', `Only admin has a webhook act as a role it does not hold: "${role}".`);
}

function check(
  row: Partial<Record<keyof StoredWebhook, unknown>>,
  secret: unknown,
  isNew: boolean,
  context: RecordContext,
): void {
  const details: Record<string, string> = {};
  const note = (name: string, problem: string | null): void => {
    if (problem !== null) details[name] = problem;
  };
  note('url', context.webhooks.problemOf(row['url']));
  note('events', eventsProblem(row['events'], context));
  if (secret !== undefined && (isNew || secret !== null)) note('secret', secretProblem(secret));
  if (isNew && secret === undefined) note('secret', secretProblem(secret));
  if (details['events'] === undefined && row['filter'] !== undefined && row['filter'] !== null)
    note('filter', filterProblem(row['filter'], row['events'] as string[], row['role'] as string, context));
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
}

function eventsProblem(input: unknown, { registry }: RecordContext): string | null {
  if (!Array.isArray(input) || input.length === 0 || input.length > mostEvents)
    return `Give a list of 1 to ${mostEvents} names such as "orders.created", or patterns such as "orders.*".`;
  for (const each of input) {
    const problem = patternProblem(each, (name) => registry.find(name) !== null);
    if (problem !== null) return problem;
  }
  return null;
}

/** A filter must resolve today, by what the role may read: what is sent must not tell of what it may not. */
function filterProblem(
  input: unknown,
  events: readonly string[],
  role: string,
  { registry, access }: RecordContext,
): string | null {
  const [resource, ...others] = [...new Set(events.map(resourceOf))];
  const collection = others.length === 0 && typeof resource === 'string' ? registry.find(resource) : null;
  if (!collection) return 'A filter goes with the events of one collection.';
  const grantOf = grantsOf(role, access, registry);
  const grant = grantOf(collection.name, 'get');
  if (!grant) return `The role "${role}" may not read ${collection.name}.`;
  try {
    const { filter, values } = normaliseFilter(input);
    if (filter === null) return null;
    const problem = jsonSizeProblem(input);
    if (problem !== null) return problem;
    checkRows({ filter, values, variables: new Map() }, collection, registry, environmentOf({}));
    planFilter(filter, collection, grant, registry, grantOf);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

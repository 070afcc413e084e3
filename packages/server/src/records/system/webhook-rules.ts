import { adminRole } from '../../access/access-table.ts';
import { buildGrants } from '../../access/grants.ts';
import { secretProblem } from '../../base/webhook-secret.ts';
import { parsePatternResource, patternProblem } from '../../changes/event-pattern.ts';
import { createBindEnvironment, type Transaction } from '../../database/database.ts';
import {
  findWebhook,
  readWebhookInTx,
  readWebhookRoles,
  type StoredWebhook,
  setWebhookSecret,
} from '../../database/webhook-rows.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { normaliseFilter } from '../../protocol/filter-normaliser.ts';
import { isObject } from '../../protocol/json-text.ts';
import { checkRowFilter, planFilter } from '../../query/filter-plan.ts';
import { jsonSizeProblem } from '../../schema/definition-details.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';
import { parseRoleName } from './role-names.ts';

/** Managed by the server. They are ignored in bodies, so that a client can send back a whole record that it has read. */
const serverManaged = new Set(['failingSince', 'pausedAt', 'pausedFor', 'deliveries']);
const maxEvents = 50;

/**
 * Webhooks are checked completely when they are saved. A webhook sends what its role may read to another server, so setting
 * the role or the URL requires that role or admin. The secret can be written but not read.
 */
export const webhookRules: RecordRules = {
  changesAccess: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const { secret, ...rest } = Object.fromEntries(Object.entries(body).filter(([name]) => !serverManaged.has(name)));
    if ('roleOf' in rest) throw invalidDefinition({ roleOf: 'Give the name of the role in "role".' });
    const current = key === null ? null : await findCurrent(key, context);
    const row: Record<string, unknown> = { ...rest };
    if (key === null || 'role' in row) row['role'] = parseHeldRole(row['role'], context);
    if (key === null) checkWebhook(row, secret, true, context);
    const isStarting = row['enabled'] === true ? !current?.enabled : key === null && row['enabled'] === undefined;
    const afterWrite = async (transaction: Transaction, id: unknown): Promise<void> => {
      // Checked after the write, as the webhook that results: errors reveal nothing about a webhook out of reach.
      if (key !== null) checkWebhook(await readWebhookInTx(context.database, transaction, id), secret, false, context);
      if (secret !== undefined && secret !== null)
        await setWebhookSecret(context.database, transaction, id, context.webhooks.encryptSecret(secret as string));
      if (isStarting) await context.database.eventLog.startDelivery(transaction, id);
    };
    return { body: row, afterWrite };
  },

  async guard({ transaction, action, keys, context }): Promise<void> {
    if (action === 'destroy') return;
    for (const role of await readWebhookRoles(context.database, transaction, keys)) requireHeldRole(role, context);
  },
};

/** The webhook before the update, which says whether the update enables it. */
async function findCurrent(key: unknown, { database }: RecordContext): Promise<StoredWebhook | null> {
  if (typeof key !== 'number')
    throw new ApiError('PARAMETER_INVALID', 'Webhooks are updated one at a time: give a "filterByTk" with one key.');
  return findWebhook(database, key);
}

function parseHeldRole(input: unknown, context: RecordContext): string {
  const role = parseRoleName(input, 'role', context);
  requireHeldRole(role, context);
  return role;
}

/** @throws ApiError 403 unless the caller holds the role that a webhook acts as, or is admin. */
export function requireHeldRole(role: string, { caller }: RecordContext): void {
  if (caller.role === adminRole || caller.roles.includes(role)) return;
  throw new ApiError(
    'ROLE_NOT_HELD',
    `Only an admin can set a webhook to a role that the caller does not have: "${role}".`,
  );
}

function checkWebhook(
  row: Partial<Record<keyof StoredWebhook, unknown>>,
  secret: unknown,
  isNew: boolean,
  context: RecordContext,
): void {
  const details: Record<string, string> = {};
  const addProblem = (name: string, problem: string | null): void => {
    if (problem !== null) details[name] = problem;
  };
  addProblem('url', context.webhooks.findUrlProblem(row['url']));
  addProblem('events', eventsProblem(row['events'], context));
  if (secret !== undefined && (isNew || secret !== null)) addProblem('secret', secretProblem(secret));
  if (isNew && secret === undefined) addProblem('secret', secretProblem(secret));
  if (details['events'] === undefined && row['filter'] !== undefined && row['filter'] !== null)
    addProblem('filter', filterProblem(row['filter'], row['events'] as string[], row['role'] as string, context));
  if (Object.keys(details).length > 0) throw invalidDefinition(details);
}

function eventsProblem(input: unknown, { registry }: RecordContext): string | null {
  if (!Array.isArray(input) || input.length === 0 || input.length > maxEvents)
    return `Give a list of 1 to ${maxEvents} names such as "orders.created", or patterns such as "orders.*".`;
  for (const each of input) {
    const problem = patternProblem(each, (name) => findNotices(registry.find(name)));
    if (problem !== null) return problem;
  }
  return null;
}

function findNotices(collection: Collection | null): readonly string[] | null {
  return collection && (collection.traits.notices ?? []);
}

/** Checks a filter with the grants of the role: the messages must not reveal what the role may not read. */
function filterProblem(
  input: unknown,
  events: readonly string[],
  role: string,
  { registry, access }: RecordContext,
): string | null {
  const [resource, ...otherResources] = [...new Set(events.map(parsePatternResource))];
  const collection = otherResources.length === 0 && typeof resource === 'string' ? registry.find(resource) : null;
  if (!collection) return 'A filter needs events of one collection.';
  const findGrant = buildGrants(role, access, registry);
  const grant = findGrant(collection.name, 'get');
  if (!grant) return `The role "${role}" may not read ${collection.name}.`;
  try {
    const { filter, values } = normaliseFilter(input);
    if (filter === null) return null;
    const problem = jsonSizeProblem(input);
    if (problem !== null) return problem;
    checkRowFilter({ filter, values, variables: new Map() }, collection, registry, createBindEnvironment({}));
    planFilter(filter, collection, grant, { registry, findGrant });
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

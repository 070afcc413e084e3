import { adminRole } from '../../access/access-table.ts';
import { isoTime } from '../../base/clock.ts';
import { expiryOf } from '../../base/expires-in.ts';
import { makeToken } from '../../base/token.ts';
import { insertKey } from '../../database/identity-store.ts';
import { actorOf } from '../../identity/caller.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { denied } from '../../query/read-access.ts';
import type { RecordContext } from '../record-context.ts';
import type { RecordRules } from '../record-rules.ts';
import { roleName } from './role-names.ts';

/** API keys are made by {@link createKey} alone; destroying one revokes it for the next request. */
export const apiKeyRules: RecordRules = {
  access: true,
  async prepare(): Promise<never> {
    throw new ApiError('ROUTE_UNKNOWN', 'API keys are created and destroyed, not changed.');
  },
};

const defaultLifetime = '30d';

/**
 * Makes an API key; its token is in the reply and nowhere else afterwards.
 *
 * A signed-in user may make keys for the roles that the user holds; otherwise allowConfigure is needed, and only admin
 * names a role that the caller does not hold.
 *
 * @throws ApiError 403 when the caller may not, 422 for a bad role, name or expiresIn.
 */
export async function createKey(context: RecordContext, body: unknown): Promise<Record<string, unknown>> {
  const input = keyInput(body);
  const role = roleName(input['role'], 'role', context);
  checkMayCreate(role, context);
  const now = context.clock.now();
  const expiresAt = expiryOf(input['expiresIn'] ?? defaultLifetime, now);
  const token = makeToken('tbk');
  const key = {
    name: (input['name'] as string | undefined) ?? null,
    role,
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    createdAt: isoTime(now),
    creatorId: (context.caller.user?.['id'] as number | undefined) ?? null,
  };
  const id = await context.database.write(async (transaction) => {
    transaction.touch('apiKeys');
    const made = await insertKey(context.database, transaction, { ...key, tokenHash: context.hashToken(token) });
    const event = {
      name: 'apiKeys.created',
      resource: 'apiKeys',
      tks: [String(made)],
      actor: actorOf(context.caller),
      requestId: context.requestId,
      changed: [],
      by: context.caller,
    };
    await context.changes.append(transaction, event, key.createdAt);
    return made;
  });
  const { creatorId: _, ...shown } = key;
  return { id, token, ...shown };
}

function keyInput(body: unknown): Record<string, unknown> {
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw invalidDefinition({ role: 'Give {"role": {"name": "…"}}.' });
  const input = body as Record<string, unknown>;
  for (const name of Object.keys(input)) {
    if (!['name', 'role', 'expiresIn'].includes(name))
      throw invalidDefinition({ [name]: 'There is no such property.' });
  }
  if (input['name'] != null && (typeof input['name'] !== 'string' || input['name'].length > 255)) {
    throw invalidDefinition({ name: 'Give text of at most 255 characters.' });
  }
  return input;
}

function checkMayCreate(role: string, { caller, grantOf }: RecordContext): void {
  const configures = grantOf('apiKeys', 'create') !== null;
  const holds = caller.roles.includes(role);
  if (caller.role === adminRole || (holds && (caller.type === 'session' || configures))) return;
  if (configures) throw new ApiError('ROLE_NOT_HELD', `Only admin makes a key for a role it does not hold: "${role}".`);
  throw denied('apiKeys', 'create');
}

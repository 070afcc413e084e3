import { adminRole } from '../../access/access-table.ts';
import { isoTime } from '../../base/clock.ts';
import { maxExpiryTime, parseExpiry } from '../../base/expires-in.ts';
import { makeToken } from '../../base/token.ts';
import { isWellFormedText } from '../../base/well-formed.ts';
import { recordEvent } from '../../changes/record-event.ts';
import { bumpVersion } from '../../database/catalogue.ts';
import type { Transaction } from '../../database/database.ts';
import { findKeyById, insertKey, type StoredKey, setKeyExpiry } from '../../database/key-rows.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { permissionDenied } from '../../query/read-access.ts';
import { getWriteSnapshot, type RecordContext } from '../record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';
import { toWriteError } from '../write/write-fault.ts';
import { parseRoleName } from './role-names.ts';

/**
 * API keys are only created by {@link createKey} and {@link rotateKey}. An update changes the name. Destroying a key revokes
 * it: the next request with it fails.
 */
export const apiKeyRules: RecordRules = {
  changesAccess: true,
  async prepare(body, key): Promise<PreparedBody> {
    if (key === null) throw new ApiError('ROUTE_UNKNOWN', 'Use apiKeys:create or apiKeys:rotate to create an API key.');
    if (!isObject(body)) return { body: body as Body };
    const fixed = Object.keys(body).filter((name) => name !== 'name');
    if (fixed.length > 0)
      throw invalidDefinition(
        Object.fromEntries(
          fixed.map((name) => [
            name.slice(0, 60),
            'Only the name of a key can be changed. Rotate the key, or create another one.',
          ]),
        ),
      );
    return { body };
  },
};

const defaultLifetime = '30d';

/**
 * Creates an API key. Its token is only in this reply; the store has its hash.
 *
 * A signed-in user may create keys for the roles that the user holds. Other callers need `allowConfigure`. Only admin
 * creates keys for roles that the caller does not hold.
 *
 * @param body `{role, name?, expiresIn?}`.
 * @throws ApiError 403 if the caller may not create the key, 422 for an invalid role, name or expiresIn.
 */
export async function createKey(context: RecordContext, body: unknown): Promise<CreatedApiKey> {
  if (!canInspectBody(body, context)) throw permissionDenied('apiKeys', 'create');
  const input = checkKeyInput(body, ['name', 'role', 'expiresIn']);
  const role = parseRoleName(input['role'], 'role', context);
  checkMayCreate(role, context);
  const now = context.clock.now();
  const expiresAt = parseExpiry(input['expiresIn'] ?? defaultLifetime, now);
  const key = {
    name: readName(input) ?? null,
    role,
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    createdAt: isoTime(now),
    creatorId: (context.caller.user?.['id'] as number | undefined) ?? null,
    bound: isBound(context),
  };
  return writeKey(context, (transaction) => addKey(context, transaction, key));
}

/** Whether a key is only valid while its creator holds the role. Keys that administrators create are valid regardless. */
function isBound({ caller }: RecordContext): boolean {
  const heldRoles = (caller.user?.['roles'] ?? []) as readonly string[];
  return caller.user !== null && caller.role !== adminRole && !heldRoles.includes(adminRole);
}

const defaultOverlap = '1h';

/**
 * Creates the successor of an API key, with the same name, role and creator. The old key stays valid for the overlap, but not
 * longer than it would have been.
 *
 * A signed-in user rotates keys that the user created, for roles that the user holds. Other callers need `update` on
 * apiKeys. Only admin rotates keys of other creators, because a key acts for its creator.
 *
 * @param body `{overlap?: "<n>h|d|w|m|y" | "none", expiresIn?, name?}`. Without expiresIn the successor has the lifetime of
 *   the old key.
 * @throws ApiError 403 if the caller may not rotate the key, 404 for an unknown key, 409 for an expired one.
 */
export async function rotateKey(context: RecordContext, id: number, body: unknown): Promise<CreatedApiKey> {
  const input = checkKeyInput(body ?? {}, ['name', 'overlap', 'expiresIn']);
  const now = context.clock.now();
  const previous = await findKeyById(context.database, id);
  checkMayRotate(previous, context);
  if (!previous) throw new ApiError('RECORD_UNKNOWN', 'The API key does not exist.');
  const ends = previous.expiresAt === null ? null : Date.parse(previous.expiresAt);
  if (ends !== null && ends <= now) throw keyEndedError();
  const overlap = readOverlapEnd(input['overlap'] ?? defaultOverlap, now);
  const expiresAt =
    input['expiresIn'] === undefined ? sameLifetime(previous, now) : parseExpiry(input['expiresIn'], now);
  const name = readName(input);
  const key = {
    name: name === undefined ? previous.name : name,
    role: previous.role,
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    createdAt: isoTime(now),
    creatorId: previous.creatorId,
    bound: previous.bound ?? isBound(context),
  };
  const createdKey = await writeKey(context, async (transaction) => {
    const successor = await addKey(context, transaction, key);
    const end = isoTime(ends === null ? overlap : Math.min(ends, overlap));
    if (!(await setKeyExpiry(context.database, transaction, { id, end, successorId: successor.id })))
      throw keyEndedError();
    await logKey(context, transaction, { verb: 'updated', id, changed: ['expiresAt'] });
    await bumpVersion(transaction);
    return successor;
  });
  await context.refresh();
  return createdKey;
}

function keyEndedError(): ApiError {
  return new ApiError(
    'KEY_ENDED',
    'The API key has expired, or already has a successor. Rotate the successor, or create a new key.',
  );
}

function readOverlapEnd(overlap: unknown, now: number): number {
  if (overlap === 'none') return now;
  const end = overlap === 'never' ? null : parseExpiry(overlap, now, 'overlap');
  if (end === null)
    throw invalidDefinition({
      overlap:
        'Give a duration such as 1h, or none. An overlap cannot be unlimited. For a second permanent key, use apiKeys:create.',
    });
  return end;
}

/** The end of a lifetime as long as that of the old key, in milliseconds since the Unix epoch. Null: it never expires. */
function sameLifetime({ createdAt, expiresAt }: StoredKey, now: number): number | null {
  return expiresAt === null ? null : Math.min(now + Date.parse(expiresAt) - Date.parse(createdAt), maxExpiryTime);
}

/** A created key as the reply shows it, once. */
type CreatedApiKey = Omit<NewKey, 'creatorId' | 'bound'> & { readonly id: number; readonly token: string };
type NewKey = Omit<Parameters<typeof insertKey>[2], 'tokenHash'>;

/** Role and creator may be deleted concurrently, so faults of the store are translated as for any record. */
function writeKey<T>(context: RecordContext, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return context.database.write(work, { snapshot: getWriteSnapshot(context) }).catch((error: unknown) => {
    throw toWriteError(error, context.registry.get('apiKeys'), true);
  });
}

/** Stores a key and appends its event. */
async function addKey(context: RecordContext, transaction: Transaction, key: NewKey): Promise<CreatedApiKey> {
  const token = makeToken('tbk');
  transaction.touch('apiKeys');
  const id = await insertKey(context.database, transaction, { ...key, tokenHash: context.hashToken(token) });
  await logKey(context, transaction, { verb: 'created', id, changed: [] });
  const { creatorId: _, bound: __, ...visible } = key;
  return { id, token, ...visible };
}

async function logKey(
  { changes, caller, requestId, clock }: RecordContext,
  transaction: Transaction,
  { verb, id, changed }: { readonly verb: string; readonly id: number; readonly changed: readonly string[] },
): Promise<void> {
  const event = recordEvent('apiKeys', verb, [id], { caller, requestId, changed, isAudited: true });
  await changes.append(transaction, event, isoTime(clock.now()));
}

function checkKeyInput(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw invalidDefinition({ role: 'Give {"role": {"name": "…"}}.' });
  for (const name of Object.keys(body))
    if (!known.includes(name))
      throw invalidDefinition({
        [name.slice(0, 60)]: `An API key has no such property. Its properties are ${known.join(', ')}.`,
      });
  return body;
}

function readName({ name }: Record<string, unknown>): string | null | undefined {
  if (name === undefined || name === null) return name;
  if (typeof name === 'string' && name.length <= 255 && isWellFormedText(name)) return name;
  throw invalidDefinition({ name: 'Give a text of at most 255 characters.' });
}

/** Refuses API keys without a grant on apiKeys, before the body is read. @throws ApiError 403. */
export function requireKeyRight({ caller, findGrant }: RecordContext, action: 'create' | 'rotate'): void {
  const needed = action === 'create' ? 'create' : 'update';
  if (caller.type === 'session' || findGrant('apiKeys', needed) !== null) return;
  throw permissionDenied('apiKeys', action);
}

/**
 * Whether errors may depend on the body. Callers who neither configure keys nor name a role of their own always get the same
 * error, so that it does not reveal which roles exist.
 */
function canInspectBody(body: unknown, { caller, findGrant }: RecordContext): boolean {
  if (caller.role === adminRole || findGrant('apiKeys', 'create') !== null) return true;
  const role = isObject(body) ? body['role'] : undefined;
  const name = isObject(role) ? role['name'] : role;
  return typeof name !== 'string' || caller.roles.includes(name);
}

function checkMayCreate(role: string, { caller, findGrant }: RecordContext): void {
  const mayConfigure = findGrant('apiKeys', 'create') !== null;
  const holdsRole = caller.roles.includes(role);
  if (caller.role === adminRole || (holdsRole && (caller.type === 'session' || mayConfigure))) return;
  if (mayConfigure)
    throw new ApiError(
      'ROLE_NOT_HELD',
      `Only an admin can create a key for a role that the caller does not have: "${role}".`,
    );
  throw permissionDenied('apiKeys', 'create');
}

/** Errors reveal nothing about a key that the caller may not read. */
function checkMayRotate(previous: StoredKey | null, { caller, findGrant }: RecordContext): void {
  if (caller.role === adminRole) return;
  const isCreator = previous !== null && previous.creatorId !== null && previous.creatorId === caller.user?.['id'];
  const holdsRole = previous !== null && caller.roles.includes(previous.role);
  const mayConfigure = findGrant('apiKeys', 'update') !== null;
  if (isCreator && holdsRole && (caller.type === 'session' || mayConfigure)) return;
  if (mayConfigure && previous === null) return;
  if (mayConfigure)
    throw new ApiError(
      'ROLE_NOT_HELD',
      'Only an admin can rotate a key that another user created, or a key with a role that the caller does not have.',
    );
  throw permissionDenied('apiKeys', 'rotate');
}

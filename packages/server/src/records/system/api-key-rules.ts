import { adminRole } from '../../access/access-table.ts';
import { isoTime } from '../../base/clock.ts';
import { maxExpiryTime, parseExpiry } from '../../base/expires-in.ts';
import { makeToken } from '../../base/token.ts';
import { isWellFormedText } from '../../base/well-formed.ts';
import { bumpVersion } from '../../database/catalogue.ts';
import type { Transaction } from '../../database/database.ts';
import { findKeyById, insertKey, type StoredKey, setKeyExpiry } from '../../database/key-rows.ts';
import { formatActor } from '../../identity/caller.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { permissionDenied } from '../../query/read-access.ts';
import { getWriteSnapshot, type RecordContext } from '../record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';
import { toWriteError } from '../write/write-fault.ts';
import { parseRoleName } from './role-names.ts';

/**
 * API keys are made by {@link createKey} and {@link rotateKey} alone; an update changes the name, and destroying one
 * revokes it for the next request.
 */
export const apiKeyRules: RecordRules = {
  changesAccess: true,
  async prepare(body, key): Promise<PreparedBody> {
    if (key === null) throw new ApiError('ROUTE_UNKNOWN', 'API keys are made by apiKeys:create and apiKeys:rotate.');
    if (!isObject(body)) return { body: body as Body };
    const fixed = Object.keys(body).filter((name) => name !== 'name');
    if (fixed.length > 0)
      throw invalidDefinition(
        Object.fromEntries(
          fixed.map((name) => [name.slice(0, 60), 'A key changes its name alone; rotate it, or make another.']),
        ),
      );
    return { body };
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

/** Whether a key that the caller makes is to hold only while its maker holds the role: administrators make keys to stay. */
function isBound({ caller }: RecordContext): boolean {
  const heldRoles = (caller.user?.['roles'] ?? []) as readonly string[];
  return caller.user !== null && caller.role !== adminRole && !heldRoles.includes(adminRole);
}

const defaultOverlap = '1h';

/**
 * Makes the successor of an API key, of the same name, role and creator; the old one works on for the overlap, and no
 * longer than it would have.
 *
 * A signed-in user rotates keys that the user made, for roles that the user holds; others need `update` on apiKeys, and
 * only admin rotates what another one made: a key speaks for its creator.
 *
 * @param body `{overlap?: "<n>h|d|w|m|y" | "none", expiresIn?, name?}`; without expiresIn it lives as long as the old one
 *   was made for.
 * @throws ApiError 403 when the caller may not, 404 for an unknown key, 409 for one that is over.
 */
export async function rotateKey(context: RecordContext, id: number, body: unknown): Promise<CreatedApiKey> {
  const input = checkKeyInput(body ?? {}, ['name', 'overlap', 'expiresIn']);
  const now = context.clock.now();
  const previous = await findKeyById(context.database, id);
  checkMayRotate(previous, context);
  if (!previous) throw new ApiError('RECORD_UNKNOWN', 'There is no API key of that id.');
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
    await logKey(context, transaction, 'apiKeys.updated', id, ['expiresAt']);
    await bumpVersion(transaction);
    return successor;
  });
  await context.refresh();
  return createdKey;
}

function keyEndedError(): ApiError {
  return new ApiError(
    'KEY_ENDED',
    'The API key is over, or has a successor already; rotate that one, or make a new key.',
  );
}

function readOverlapEnd(overlap: unknown, now: number): number {
  if (overlap === 'none') return now;
  const end = overlap === 'never' ? null : parseExpiry(overlap, now, 'overlap');
  if (end === null)
    throw invalidDefinition({ overlap: 'Give a time such as 1h, or none; two keys for ever are two keys.' });
  return end;
}

/** As long as the former one was made for, calendar months and leap years aside; never, if it never ended. */
function sameLifetime({ createdAt, expiresAt }: StoredKey, now: number): number | null {
  return expiresAt === null ? null : Math.min(now + Date.parse(expiresAt) - Date.parse(createdAt), maxExpiryTime);
}

/** A key as it is told once. */
type CreatedApiKey = Omit<NewKey, 'creatorId' | 'bound'> & { readonly id: number; readonly token: string };
type NewKey = Omit<Parameters<typeof insertKey>[2], 'tokenHash'>;

/** Role and creator may go while the key is being made: what the store then refuses is told as of every record. */
function writeKey<T>(context: RecordContext, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return context.database.write(work, { snapshot: getWriteSnapshot(context) }).catch((error: unknown) => {
    throw toWriteError(error, context.registry.get('apiKeys'), true);
  });
}

/** Stores a key and logs it; returns what is told of it once. */
async function addKey(context: RecordContext, transaction: Transaction, key: NewKey): Promise<CreatedApiKey> {
  const token = makeToken('tbk');
  transaction.touch('apiKeys');
  const id = await insertKey(context.database, transaction, { ...key, tokenHash: context.hashToken(token) });
  await logKey(context, transaction, 'apiKeys.created', id, []);
  const { creatorId: _, bound: __, ...visible } = key;
  return { id, token, ...visible };
}

async function logKey(
  { changes, caller, requestId, clock }: RecordContext,
  transaction: Transaction,
  name: string,
  id: number,
  changed: readonly string[],
): Promise<void> {
  const event = {
    name,
    resource: 'apiKeys',
    keys: [String(id)],
    actor: formatActor(caller),
    requestId,
    changed,
    by: caller,
  };
  await changes.append(transaction, event, isoTime(clock.now()));
}

function checkKeyInput(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw invalidDefinition({ role: 'Give {"role": {"name": "…"}}.' });
  for (const name of Object.keys(body))
    if (!known.includes(name)) throw invalidDefinition({ [name.slice(0, 60)]: 'There is no such property.' });
  return body;
}

function readName({ name }: Record<string, unknown>): string | null | undefined {
  if (name === undefined || name === null) return name;
  if (typeof name === 'string' && name.length <= 255 && isWellFormedText(name)) return name;
  throw invalidDefinition({ name: 'Give text of at most 255 characters.' });
}

/** A key without a grant on apiKeys makes and rotates none, whatever it sends. @throws ApiError 403. */
export function requireKeyRight({ caller, findGrant }: RecordContext, action: 'create' | 'rotate'): void {
  const needed = action === 'create' ? 'create' : 'update';
  if (caller.type === 'session' || findGrant('apiKeys', needed) !== null) return;
  throw permissionDenied('apiKeys', action);
}

/**
 * Whether a body may be looked at. Who neither configures keys nor names a role that is the caller's own gets one answer,
 * whatever the body holds: which roles there are is not told.
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
    throw new ApiError('ROLE_NOT_HELD', `Only admin makes a key for a role it does not hold: "${role}".`);
  throw permissionDenied('apiKeys', 'create');
}

/** Who may not know of a key is told nothing about it. */
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
      'Only admin rotates a key that another one made, or of a role it does not hold.',
    );
  throw permissionDenied('apiKeys', 'rotate');
}

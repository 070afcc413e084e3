import { adminRole } from '../../access/access-table.ts';
import { isoTime } from '../../base/clock.ts';
import { expiryOf, lastMoment } from '../../base/expires-in.ts';
import { makeToken } from '../../base/token.ts';
import { isWellFormedText } from '../../base/well-formed.ts';
import { bumpVersion } from '../../database/catalogue.ts';
import type { Transaction } from '../../database/database.ts';
import { endKey, findKeyById, insertKey, type StoredKey } from '../../database/key-rows.ts';
import { actorOf } from '../../identity/caller.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { denied } from '../../query/read-access.ts';
import { type RecordContext, snapshotOf } from '../record-context.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';
import { writeFault } from '../write-fault.ts';
import { roleName } from './role-names.ts';

/**
 * API keys are made by {@link createKey} and {@link rotateKey} alone; an update changes the name, and destroying one
 * revokes it for the next request.
 */
export const apiKeyRules: RecordRules = {
  access: true,
  async prepare(body, key): Promise<RuledBody> {
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
export async function createKey(context: RecordContext, body: unknown): Promise<MadeKey> {
  if (!heldRoleNamed(body, context)) throw denied('apiKeys', 'create');
  const input = keyInput(body, ['name', 'role', 'expiresIn']);
  const role = roleName(input['role'], 'role', context);
  checkMayCreate(role, context);
  const now = context.clock.now();
  const expiresAt = expiryOf(input['expiresIn'] ?? defaultLifetime, now);
  const key = {
    name: nameIn(input) ?? null,
    role,
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    createdAt: isoTime(now),
    creatorId: (context.caller.user?.['id'] as number | undefined) ?? null,
    bound: isBound(context),
  };
  return writing(context, (transaction) => addKey(context, transaction, key));
}

/** Whether a key that the caller makes is to hold only while its maker holds the role: administrators make keys to stay. */
function isBound({ caller }: RecordContext): boolean {
  const held = (caller.user?.['roles'] ?? []) as readonly string[];
  return caller.user !== null && caller.role !== adminRole && !held.includes(adminRole);
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
export async function rotateKey(context: RecordContext, id: number, body: unknown): Promise<MadeKey> {
  const input = keyInput(body ?? {}, ['name', 'overlap', 'expiresIn']);
  const now = context.clock.now();
  const former = await findKeyById(context.database, id);
  checkMayRotate(former, context);
  if (!former) throw new ApiError('RECORD_UNKNOWN', 'There is no API key of that id.');
  const ends = former.expiresAt === null ? null : Date.parse(former.expiresAt);
  if (ends !== null && ends <= now) throw keyEnded();
  const overlap = overlapEnd(input['overlap'] ?? defaultOverlap, now);
  const expiresAt = input['expiresIn'] === undefined ? sameLife(former, now) : expiryOf(input['expiresIn'], now);
  const name = nameIn(input);
  const key = {
    name: name === undefined ? former.name : name,
    role: former.role,
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    createdAt: isoTime(now),
    creatorId: former.creatorId,
    bound: former.bound ?? isBound(context),
  };
  const shown = await writing(context, async (transaction) => {
    const successor = await addKey(context, transaction, key);
    const end = isoTime(ends === null ? overlap : Math.min(ends, overlap));
    if (!(await endKey(context.database, transaction, { id, end, successorId: successor.id }))) throw keyEnded();
    await logKey(context, transaction, 'apiKeys.updated', id, ['expiresAt']);
    await bumpVersion(transaction);
    return successor;
  });
  await context.refresh();
  return shown;
}

function keyEnded(): ApiError {
  return new ApiError(
    'KEY_ENDED',
    'The API key is over, or has a successor already; rotate that one, or make a new key.',
  );
}

function overlapEnd(overlap: unknown, now: number): number {
  if (overlap === 'none') return now;
  const end = overlap === 'never' ? null : expiryOf(overlap, now, 'overlap');
  if (end === null)
    throw invalidDefinition({ overlap: 'Give a time such as 1h, or none; two keys for ever are two keys.' });
  return end;
}

/** As long as the former one was made for, calendar months and leap years aside; never, if it never ended. */
function sameLife({ createdAt, expiresAt }: StoredKey, now: number): number | null {
  return expiresAt === null ? null : Math.min(now + Date.parse(expiresAt) - Date.parse(createdAt), lastMoment);
}

/** A key as it is told once. */
type MadeKey = Omit<NewKey, 'creatorId' | 'bound'> & { readonly id: number; readonly token: string };
type NewKey = Omit<Parameters<typeof insertKey>[2], 'tokenHash'>;

/** Role and creator may go while the key is being made: what the store then refuses is told as of every record. */
function writing<T>(context: RecordContext, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return context.database.write(work, { snapshot: snapshotOf(context) }).catch((error: unknown) => {
    throw writeFault(error, context.registry.get('apiKeys'), true);
  });
}

/** Stores a key and logs it; returns what is told of it once. */
async function addKey(context: RecordContext, transaction: Transaction, key: NewKey): Promise<MadeKey> {
  const token = makeToken('tbk');
  transaction.touch('apiKeys');
  const id = await insertKey(context.database, transaction, { ...key, tokenHash: context.hashToken(token) });
  await logKey(context, transaction, 'apiKeys.created', id, []);
  const { creatorId: _, bound: __, ...shown } = key;
  return { id, token, ...shown };
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
    tks: [String(id)],
    actor: actorOf(caller),
    requestId,
    changed,
    by: caller,
  };
  await changes.append(transaction, event, isoTime(clock.now()));
}

function keyInput(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw invalidDefinition({ role: 'Give {"role": {"name": "…"}}.' });
  for (const name of Object.keys(body))
    if (!known.includes(name)) throw invalidDefinition({ [name.slice(0, 60)]: 'There is no such property.' });
  return body;
}

function nameIn({ name }: Record<string, unknown>): string | null | undefined {
  if (name === undefined || name === null) return name;
  if (typeof name === 'string' && name.length <= 255 && isWellFormedText(name)) return name;
  throw invalidDefinition({ name: 'Give text of at most 255 characters.' });
}

/** A key without a grant on apiKeys makes and rotates none, whatever it sends. @throws ApiError 403. */
export function requireKeyRight({ caller, grantOf }: RecordContext, action: 'create' | 'rotate'): void {
  const needed = action === 'create' ? 'create' : 'update';
  if (caller.type === 'session' || grantOf('apiKeys', needed) !== null) return;
  throw denied('apiKeys', action);
}

/**
 * Whether a body may be looked at. Who neither configures keys nor names a role that is the caller's own gets one answer,
 * whatever the body holds: which roles there are is not told.
 */
function heldRoleNamed(body: unknown, { caller, grantOf }: RecordContext): boolean {
  if (caller.role === adminRole || grantOf('apiKeys', 'create') !== null) return true;
  const role = isObject(body) ? body['role'] : undefined;
  const name = isObject(role) ? role['name'] : role;
  return typeof name !== 'string' || caller.roles.includes(name);
}

function checkMayCreate(role: string, { caller, grantOf }: RecordContext): void {
  const configures = grantOf('apiKeys', 'create') !== null;
  const holds = caller.roles.includes(role);
  if (caller.role === adminRole || (holds && (caller.type === 'session' || configures))) return;
  if (configures) throw new ApiError('ROLE_NOT_HELD', `Only admin makes a key for a role it does not hold: "${role}".`);
  throw denied('apiKeys', 'create');
}

/** Who may not know of a key is told nothing about it. */
function checkMayRotate(former: StoredKey | null, { caller, grantOf }: RecordContext): void {
  if (caller.role === adminRole) return;
  const own = former !== null && former.creatorId !== null && former.creatorId === caller.user?.['id'];
  const holds = former !== null && caller.roles.includes(former.role);
  const configures = grantOf('apiKeys', 'update') !== null;
  if (own && holds && (caller.type === 'session' || configures)) return;
  if (configures && former === null) return;
  if (configures)
    throw new ApiError(
      'ROLE_NOT_HELD',
      'Only admin rotates a key that another one made, or of a role it does not hold.',
    );
  throw denied('apiKeys', 'rotate');
}

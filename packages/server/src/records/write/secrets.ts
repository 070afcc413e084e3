/**
 * Hashing of the passwords in records. Hashing is slow, and SQLite has one writer at a time, so a transaction must not wait
 * for it: all passwords of a body, nested ones included, are hashed before the first transaction begins.
 */
import { hashPassword } from '../../identity/password.ts';
import { passwordLength } from '../../identity/password-rules.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { Collection } from '../../schema/registry.ts';
import { HashedSecrets } from '../hashed-secrets.ts';
import type { RecordContext } from '../record-context.ts';
import type { CheckedRecord } from './record-input.ts';

/**
 * The context for a write that runs in a transaction of several operations: with the hashes of all passwords in its body.
 *
 * @returns the context, without a promise if the body has no passwords.
 * @throws ApiError `LIMIT_EXCEEDED` for more passwords than a write takes records, `BUSY` where too many are being hashed.
 */
export function hashBodySecrets(
  context: RecordContext,
  collection: Collection,
  body: unknown,
): RecordContext | Promise<RecordContext> {
  return hashAllSecrets(context, [{ collection, body }]);
}

/** A body and the collection that it is written to. */
export interface SecretBody {
  readonly collection: Collection;
  readonly body: unknown;
  /** What a text of the body stands for; null if that is not known yet. */
  readonly resolveText?: (text: string) => string | null;
}

/** The same as {@link hashBodySecrets} for several bodies that one transaction writes. */
export function hashAllSecrets(
  context: RecordContext,
  parts: readonly SecretBody[],
): RecordContext | Promise<RecordContext> {
  // The passwords of an open transaction were hashed before it began.
  if (context.tx) return context;
  const texts = parts.flatMap((part) => collectSecrets(context, part));
  return texts.length === 0 ? context : hashTexts(context, texts);
}

async function hashTexts(context: RecordContext, texts: readonly string[]): Promise<RecordContext> {
  if (texts.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `One write takes at most ${limits.bulkRecords} passwords.`);
  const hashes = new Map<string, string[]>();
  // One at a time, so that a large body does not fill the queue of the hashing pool.
  for (const text of texts) hashes.set(text, [...(hashes.get(text) ?? []), await hashPassword(text)]);
  return { ...context, secrets: new HashedSecrets(hashes) };
}

/**
 * The passwords that the write may store. Invalid ones, and those of collections that the caller may not write, are
 * left out.
 */
export function collectSecrets(
  context: RecordContext,
  { collection, body, resolveText = (text) => text }: SecretBody,
): string[] {
  const texts: string[] = [];
  collectFrom({ collection, body, resolveText }, context, 0, texts);
  return texts;
}

function collectFrom(part: Required<SecretBody>, context: RecordContext, depth: number, texts: string[]): void {
  const { collection, body, resolveText } = part;
  if (Array.isArray(body)) {
    for (const each of body) collectFrom({ ...part, body: each }, context, depth, texts);
    return;
  }
  if (!isObject(body) || depth > limits.pathDepth) return;
  for (const name of Object.keys(body)) {
    const value = body[name];
    const field = collection.byName.get(name);
    if (!field) continue;
    if (field.type.secret) {
      const text = typeof value === 'string' ? resolveText(value) : null;
      if (isStorable(text) && mayWrite(context, collection)) texts.push(text);
    } else if (field.relation && value !== null && typeof value === 'object') {
      const target = context.registry.get(field.relation.target);
      collectFrom({ collection: target, body: value, resolveText }, context, depth + 1, texts);
    }
  }
}

function isStorable(value: string | null): value is string {
  return value !== null && value.length >= passwordLength.min && value.length <= 2 * passwordLength.max;
}

function mayWrite({ findGrant }: RecordContext, { name }: Collection): boolean {
  return findGrant(name, 'create') !== null || findGrant(name, 'update') !== null;
}

/**
 * Replaces the passwords of a checked record by hashes: those of {@link hashBodySecrets}, else new ones. In a transaction
 * only the password fields of a join are hashed here.
 */
async function hashRecordSecrets(
  record: CheckedRecord,
  collection: Collection,
  { secrets }: RecordContext,
): Promise<CheckedRecord> {
  const names = collection.fields.filter((field) => field.type.secret).map((field) => field.name);
  if (!names.some((name) => record.values[name] != null)) return record;
  const values: Record<string, unknown> = { ...record.values };
  for (const name of names) {
    const text = values[name];
    if (typeof text === 'string') values[name] = secrets?.take(text) ?? (await hashPassword(text));
  }
  return { ...record, values };
}

/** The same as {@link hashRecordSecrets} for several records, one after the other. */
export async function hashAllRecordSecrets(
  records: readonly CheckedRecord[],
  collection: Collection,
  context: RecordContext,
): Promise<readonly CheckedRecord[]> {
  const hashed: CheckedRecord[] = [];
  for (const record of records) hashed.push(await hashRecordSecrets(record, collection, context));
  return hashed;
}

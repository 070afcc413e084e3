/**
 * Passwords on their way into records. Hashing takes its time, and a transaction must not wait for it: SQLite's writes
 * stand in one line. So whatever a body brings along, however deep, is hashed before the first transaction begins.
 */
import { hashPassword } from '../../identity/password.ts';
import { passwordLength } from '../../identity/password-rules.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import type { CheckedRecord } from './record-input.ts';

/** Hashes by the texts that they were made from; each is given out once an attempt, so that no two records share one. */
export class HashedSecrets {
  readonly #hashes: ReadonlyMap<string, readonly string[]>;
  readonly #given = new Map<string, number>();

  constructor(hashes: ReadonlyMap<string, readonly string[]>) {
    this.#hashes = hashes;
  }

  take(text: string): string | undefined {
    const index = this.#given.get(text) ?? 0;
    this.#given.set(text, index + 1);
    return this.#hashes.get(text)?.[index];
  }

  /** For another attempt of the same write. */
  forRetry(): HashedSecrets {
    return new HashedSecrets(this.#hashes);
  }
}

/**
 * The context for a write that runs in a transaction of several operations: with the hashes of all passwords in its body.
 *
 * @throws ApiError `LIMIT_EXCEEDED` for more passwords than a write takes records, `BUSY` where too many are being hashed.
 */
export function hashBodySecrets(context: RecordContext, collection: Collection, body: unknown): Promise<RecordContext> {
  return hashAllSecrets(context, [{ collection, body }]);
}

/** A body and the collection that it is written to. */
export interface SecretBody {
  readonly collection: Collection;
  readonly body: unknown;
  /** What a text of the body stands for; null where that is not known yet. */
  readonly resolveText?: (text: string) => string | null;
}

/** The same for several bodies that one transaction writes. */
export async function hashAllSecrets(context: RecordContext, parts: readonly SecretBody[]): Promise<RecordContext> {
  // Those of a transaction under way were hashed before it began.
  if (context.tx) return context;
  const texts = parts.flatMap((part) => collectSecrets(context, part));
  if (texts.length === 0) return context;
  if (texts.length > limits.bulkRecords)
    throw new ApiError('LIMIT_EXCEEDED', `One write takes at most ${limits.bulkRecords} passwords.`);
  const hashes = new Map<string, string[]>();
  // One after the other: a large body holds one place in the line, not all of them.
  for (const text of texts) hashes.set(text, [...(hashes.get(text) ?? []), await hashPassword(text)]);
  return { ...context, secrets: new HashedSecrets(hashes) };
}

/** The passwords that could be stored: of collections that the caller may write, and not what will be refused anyway. */
export function collectSecrets(
  context: RecordContext,
  { collection, body, resolveText = (text) => text }: SecretBody,
): string[] {
  const texts: string[] = [];
  collectFrom(context, collection, body, 0, resolveText, texts);
  return texts;
}

function collectFrom(
  context: RecordContext,
  collection: Collection,
  body: unknown,
  depth: number,
  resolveText: (text: string) => string | null,
  texts: string[],
): void {
  if (Array.isArray(body)) {
    for (const each of body) collectFrom(context, collection, each, depth, resolveText, texts);
    return;
  }
  if (!isObject(body) || depth > limits.pathDepth) return;
  for (const [name, value] of Object.entries(body)) {
    const field = collection.byName.get(name);
    if (!field) continue;
    if (field.type.secret) {
      const text = typeof value === 'string' ? resolveText(value) : null;
      if (isStorable(text) && mayWrite(context, collection)) texts.push(text);
    } else if (field.relation && value !== null && typeof value === 'object') {
      collectFrom(context, context.registry.get(field.relation.target), value, depth + 1, resolveText, texts);
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
 * Puts hashes in place of the checked passwords of records: those made beforehand, else made here. Inside a transaction
 * that is left to password fields of a join, written along with its links.
 */
export async function applyHashedSecrets(
  records: readonly CheckedRecord[],
  collection: Collection,
  { secrets }: RecordContext,
): Promise<readonly CheckedRecord[]> {
  const names = collection.fields.filter((field) => field.type.secret).map((field) => field.name);
  if (!records.some(({ values }) => names.some((name) => values[name] != null))) return records;
  const hashed: CheckedRecord[] = [];
  for (const record of records) {
    const values: Record<string, unknown> = { ...record.values };
    for (const name of names) {
      if (values[name] == null) continue;
      const text = values[name] as string;
      values[name] = secrets?.take(text) ?? (await hashPassword(text));
    }
    hashed.push({ ...record, values });
  }
  return hashed;
}

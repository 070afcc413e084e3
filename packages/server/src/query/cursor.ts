import { hash } from 'node:crypto';
import { ApiError } from '../protocol/api-error.ts';
import { invalidOperand } from '../schema/field-type.ts';
import type { SortKey } from './sort-plan.ts';

/**
 * The text of a cursor: the sort values of a page's last record, and the fingerprint of the list.
 *
 * It only contains values that the page showed or was sorted by. They come back as parameters.
 *
 * @param keys the keys of the sort, one for each value.
 */
export function encodeSortCursor(fingerprint: string, values: readonly unknown[], keys: readonly SortKey[]): string {
  // SQLite returns booleans as 0 and 1.
  const cursorValues = values.map((value, index) =>
    keys[index]?.field.type.storage === 'boolean' && value !== null ? Boolean(value) : value,
  );
  return Buffer.from(JSON.stringify([fingerprint, ...cursorValues])).toString('base64url');
}

/**
 * The sort values of a cursor.
 *
 * @throws ApiError `CURSOR_INVALID` when it is malformed or its fingerprint is another list's.
 */
export function decodeSortCursor(text: string, fingerprint: string, keys: readonly SortKey[]): unknown[] {
  const parts = parseCursor(text);
  if (!Array.isArray(parts) || parts.length !== keys.length + 1) throw cursorInvalid('is malformed');
  if (parts[0] !== fingerprint) throw cursorInvalid('belongs to another sort, filter or role');
  return keys.map((key, index) => {
    const value: unknown = parts[index + 1];
    if (value === null && key.nullable) return null;
    const canonical = key.field.type.name === 'boolean' ? Boolean(value) : key.field.type.readOperand(value, false);
    if (canonical === invalidOperand || value === null) throw cursorInvalid('is malformed');
    return canonical;
  });
}

/** The cursor of a list that is sorted by a number that the server assigns. */
export function encodePositionCursor(fingerprint: string, position: number): string {
  return Buffer.from(JSON.stringify([fingerprint, position])).toString('base64url');
}

/** The number in such a cursor. @throws ApiError `CURSOR_INVALID` when it is malformed or of another list. */
export function decodePositionCursor(text: string, fingerprint: string): number {
  const parts = parseCursor(text);
  if (!Array.isArray(parts) || parts.length !== 2 || !Number.isSafeInteger(parts[1]))
    throw cursorInvalid('is malformed');
  if (parts[0] !== fingerprint) throw cursorInvalid('belongs to another list');
  return parts[1] as number;
}

/** Identifies a list: the same for the same resource, sort, filter with its values, and role. */
export function fingerprintList(...parts: readonly unknown[]): string {
  return hash('sha1', JSON.stringify(parts), 'base64url').slice(0, 12);
}

function parseCursor(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}

function cursorInvalid(reason: string): ApiError {
  return new ApiError('CURSOR_INVALID', `The cursor in after ${reason}; start again from the first page.`);
}

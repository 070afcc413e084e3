import { hash } from 'node:crypto';
import { ApiError } from '../protocol/api-error.ts';
import { misfit } from '../schema/field-type.ts';
import type { SortKey } from './sort-plan.ts';

/**
 * The text of a cursor: where a page ended, and the mark of the list it belongs to.
 *
 * It holds nothing but values that the page showed or was sorted by; they come back as parameters only.
 */
export function encodeCursor(mark: string, values: readonly unknown[], keys: readonly SortKey[]): string {
  // An engine without truth values gives 0 and 1.
  const shown = values.map((value, index) =>
    keys[index]!.field.type.storage === 'boolean' && value !== null ? Boolean(value) : value,
  );
  return Buffer.from(JSON.stringify([mark, ...shown])).toString('base64url');
}

/**
 * The sort values of a cursor.
 *
 * @throws ApiError `CURSOR_INVALID` when it is malformed or its mark is another list's.
 */
export function decodeCursor(text: string, mark: string, keys: readonly SortKey[]): unknown[] {
  const parts = parsed(text);
  if (!Array.isArray(parts) || parts.length !== keys.length + 1) throw invalid('is malformed');
  if (parts[0] !== mark) throw invalid('belongs to another sort, filter or role');
  return keys.map((key, index) => {
    const value: unknown = parts[index + 1];
    if (value === null && key.nullable) return null;
    const canonical = key.field.type.name === 'boolean' ? Boolean(value) : key.field.type.readOperand(value, false);
    if (canonical === misfit || value === null) throw invalid('is malformed');
    return canonical;
  });
}

/** The cursor of a list that is ordered by one number of the server's own. */
export function encodePlace(mark: string, place: number): string {
  return Buffer.from(JSON.stringify([mark, place])).toString('base64url');
}

/** @throws ApiError `CURSOR_INVALID`. */
export function decodePlace(text: string, mark: string): number {
  const parts = parsed(text);
  if (!Array.isArray(parts) || parts.length !== 2 || !Number.isSafeInteger(parts[1])) throw invalid('is malformed');
  if (parts[0] !== mark) throw invalid('belongs to another list');
  return parts[1] as number;
}

/** Tells lists apart: the same for the same resource, sort, filter with its values, and role. */
export function cursorMark(...parts: readonly unknown[]): string {
  return hash('sha1', JSON.stringify(parts), 'base64url').slice(0, 12);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}

function invalid(why: string): ApiError {
  return new ApiError('CURSOR_INVALID', `The cursor in after ${why}; start again from the first page.`);
}

import { JsonNumber, parseExactJson } from '../protocol/exact-json.ts';

/** The value of a JSON column, which engines return as text. */
export function parseJsonColumn(text: unknown): unknown {
  return typeof text === 'string' ? parseExactJson(text) : (text ?? null);
}

/**
 * Parses a record that the engine wrote as JSON. Engines write more digits of a 64-bit floating point number than necessary; such
 * fields are read as the nearest number.
 *
 * @param doubles names of the members that are 64-bit floating point numbers.
 */
export function parseRecordJson(text: string, doubles: readonly string[]): Record<string, unknown> {
  const record = parseExactJson(text) as Record<string, unknown>;
  for (const name of doubles) {
    const number = record[name];
    if (number instanceof JsonNumber) record[name] = number.nearest;
  }
  return record;
}

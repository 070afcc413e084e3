import { JsonNumber, parseExactJson } from '../protocol/exact-json.ts';

/** The value of a JSON column, which comes as text; null where there is none. */
export function parseJsonColumn(text: unknown): unknown {
  return typeof text === 'string' ? parseExactJson(text) : (text ?? null);
}

/**
 * A record that the engine wrote as JSON. Engines write out more digits of a 64-bit floating point number than tell it
 * apart; such fields come as the number itself.
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

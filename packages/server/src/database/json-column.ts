/** The value of a JSON column, which comes as text; null where there is none. */
export function parsedJson(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : (text ?? null);
}

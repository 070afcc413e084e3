/**
 * Encodes parameters as a query string: lists of names with commas, several keys and filters as JSON, other values as text.
 * Undefined values are omitted.
 */
export function buildQueryString(parameters: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters) as [string, unknown][]) {
    if (value !== undefined) query.set(name, encodeValue(name, value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function encodeValue(name: string, value: unknown): string {
  if (name !== 'filterByTk' && Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

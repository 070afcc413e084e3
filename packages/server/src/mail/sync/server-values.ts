/** The Message-ID of a header block, with angle brackets; null: it has none. */
export function readMessageId(header: Buffer): string | null {
  const text = header.toString('latin1').replace(/\r?\n[ \t]+/g, ' ');
  return /^message-id:\s*(<[^>]*>)/im.exec(text)?.[1] ?? null;
}

/** A date of the server as ISO 8601. Null without one, and if the year does not have four digits. */
export function toIsoTime(date: Date | string | undefined): string | null {
  const time = date === undefined ? Number.NaN : new Date(date).getTime();
  const text = Number.isNaN(time) ? '' : new Date(time).toISOString();
  return /^\d{4}-/.test(text) ? text : null;
}

/** Sets of UIDs as IMAP writes them. */

/** The shortest set that names the UIDs: `1:3,7`. */
export function formatUidSet(uids: readonly number[]): string {
  const sorted = [...new Set(uids)].sort((one, other) => one - other);
  const parts: string[] = [];
  for (let index = 0; index < sorted.length; ) {
    const first = sorted[index] ?? 0;
    let last = first;
    index += 1;
    while (sorted[index] === last + 1) {
      last += 1;
      index += 1;
    }
    parts.push(first === last ? String(first) : `${first}:${last}`);
  }
  return parts.join(',');
}

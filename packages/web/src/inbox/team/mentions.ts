import type { AccountMember } from '@tablinum/client';

/** The beginning of a mention before the cursor of a text: `@an`. */
export interface MentionStart {
  /** Where the `@` is. */
  readonly index: number;
  readonly typed: string;
}

const maxTyped = 40;

/** The mention that is being typed at a position of a text; null for none. */
export function findMentionStart(text: string, position: number): MentionStart | null {
  const before = text.slice(Math.max(0, position - maxTyped - 1), position);
  const at = before.lastIndexOf('@');
  if (at < 0 || (at > 0 && !/\s/.test(before[at - 1] ?? ''))) return null;
  const typed = before.slice(at + 1);
  return /\n/.test(typed) ? null : { index: position - typed.length - 1, typed };
}

/** The members whose names match a typed beginning. */
export function findMentionable(members: readonly AccountMember[], typed: string): readonly AccountMember[] {
  const wanted = typed.toLowerCase();
  return members.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, 8);
}

/** Splits a text at the mentions of members, the longest names first. */
export function splitMentions(
  text: string,
  members: readonly AccountMember[],
): readonly { readonly start: number; readonly text: string; readonly member: AccountMember | null }[] {
  const byLength = members.toSorted((one, second) => second.name.length - one.name.length);
  const parts: { start: number; text: string; member: AccountMember | null }[] = [];
  let plainFrom = 0;
  for (let index = text.indexOf('@'); index >= 0; index = text.indexOf('@', index + 1)) {
    if (index < plainFrom) continue;
    const member = byLength.find(({ name }) => text.startsWith(name, index + 1));
    if (!member) continue;
    if (index > plainFrom) parts.push({ start: plainFrom, text: text.slice(plainFrom, index), member: null });
    const end = index + 1 + member.name.length;
    parts.push({ start: index, text: text.slice(index, end), member });
    plainFrom = end;
  }
  if (plainFrom < text.length) parts.push({ start: plainFrom, text: text.slice(plainFrom), member: null });
  return parts;
}

/** The ids of the members whom a text mentions, each once. */
export function listMentions(text: string, members: readonly AccountMember[]): number[] {
  return [...new Set(splitMentions(text, members).flatMap(({ member }) => (member ? [member.id] : [])))];
}

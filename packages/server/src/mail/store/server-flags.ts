/** Flags of e-mails as an IMAP server names them, and as fields of an e-mail. */
import type { EmailFlags } from '../../database/mail/flag-rows.ts';

/** How a server stores the labels of users. */
export type LabelMode = 'keywords' | 'gmail';

/** A change of flags: names of the server, and whether they are set. */
export type FlagWishes = ReadonlyMap<string, boolean>;

/** The flags of IMAP and the fields that show them. `\Draft` is read only when a message is stored. */
const fieldByFlag = {
  '\\Seen': 'read',
  '\\Flagged': 'starred',
  '\\Answered': 'answered',
  '\\Deleted': 'deleted',
  $Forwarded: 'forwarded',
} as const satisfies Readonly<Record<string, keyof EmailFlags>>;

/** Flags that users change here; the others are only read. */
const writableFlags = ['\\Seen', '\\Flagged', '\\Answered', '$Forwarded'] as const;

const canonicalNames = new Map(
  [...Object.keys(fieldByFlag), '\\Draft'].map((name) => [name.toLowerCase(), name] as const),
);
const ignoredFlags: ReadonlySet<string> = new Set(['\\recent', '\\*']);
/** Keywords that mail programs set on their own: they are not labels. */
const technicalKeywords: ReadonlySet<string> = new Set([
  'junk',
  'nonjunk',
  'notjunk',
  'forwarded',
  'redirected',
  'receipt-handled',
]);
/** Labels of Gmail are no keywords, so their names begin with this. No keyword that a program sets does. */
const labelPrefix = 'label:';

/** Whether a label can be stored as a keyword: an atom of RFC 3501. */
const isKeyword = (label: string): boolean => /^[!#-$&'+-[\]^-z|}~]+$/.test(label) && !label.startsWith('$');

/** What the server says about a message, in canonical form and order. @param labels of Gmail; null on other servers. */
export function normaliseFlags(flags: Iterable<string>, labels: Iterable<string> | null = null): string[] {
  const names = new Set<string>();
  for (const flag of flags)
    if (!ignoredFlags.has(flag.toLowerCase())) names.add(canonicalNames.get(flag.toLowerCase()) ?? flag);
  for (const label of labels ?? []) names.add(labelPrefix + label);
  return [...names].sort();
}

/** Flags of an operation as the server takes them: flags and keywords for STORE, labels for STORE X-GM-LABELS. */
export function splitLabels(names: readonly string[]): { readonly flags: string[]; readonly labels: string[] } {
  return {
    flags: names.filter((name) => !name.startsWith(labelPrefix)),
    labels: names.filter((name) => name.startsWith(labelPrefix)).map((name) => name.slice(labelPrefix.length)),
  };
}

/** Flags of a message that is new here. */
export function readEmailFlags(names: readonly string[]): EmailFlags {
  return applyFlags(noFlags, new Map(names.map((name) => [name, true])));
}

const noFlags: EmailFlags = {
  read: false,
  starred: false,
  answered: false,
  forwarded: false,
  deleted: false,
  keywords: [],
  labels: [],
};

/** The flags of an e-mail after some of the server's flags have changed. */
export function applyFlags(before: EmailFlags, changes: FlagWishes): EmailFlags {
  const fields: { -readonly [Name in keyof EmailFlags]: EmailFlags[Name] } = { ...before };
  for (const [name, isSet] of changes) {
    if (name === '\\Draft') continue;
    const field = (fieldByFlag as Readonly<Record<string, (typeof fieldByFlag)[keyof typeof fieldByFlag]>>)[name];
    if (field) {
      fields[field] = isSet;
      continue;
    }
    const [list, entry] = parseListEntry(name);
    const rest = fields[list].filter((each) => each !== entry);
    fields[list] = isSet ? [...rest, entry].sort() : rest;
  }
  return fields;
}

function parseListEntry(name: string): readonly ['keywords' | 'labels', string] {
  const isLabel = name.startsWith(labelPrefix);
  const entry = isLabel ? name.slice(labelPrefix.length) : name;
  // Gmail's own labels, such as \Important, are not the user's.
  const isTechnical = /^[$\\]/.test(entry) || (!isLabel && technicalKeywords.has(entry.toLowerCase()));
  return [isTechnical ? 'keywords' : 'labels', entry];
}

/** What the server changed between two of its answers. */
export function diffServerFlags(before: readonly string[], after: readonly string[]): Map<string, boolean> {
  const [old, now] = [new Set(before), new Set(after)];
  const changes = new Map<string, boolean>();
  for (const name of now.difference(old)) changes.set(name, true);
  for (const name of old.difference(now)) changes.set(name, false);
  return changes;
}

/** What a local change of an e-mail changes on the server. Labels that the server cannot store stay only here. */
export function diffEmailFlags(before: EmailFlags, after: EmailFlags, mode: LabelMode): Map<string, boolean> {
  const changes = new Map<string, boolean>();
  for (const name of writableFlags) {
    const field = fieldByFlag[name];
    if (before[field] !== after[field]) changes.set(name, after[field]);
  }
  const names = (labels: readonly string[], others: readonly string[]): string[] =>
    labels.filter((label) => !others.includes(label)).flatMap((label) => toLabelFlag(label, mode) ?? []);
  for (const name of names(after.labels, before.labels)) changes.set(name, true);
  for (const name of names(before.labels, after.labels)) changes.set(name, false);
  return changes;
}

function toLabelFlag(label: string, mode: LabelMode): string | null {
  if (mode === 'gmail') return labelPrefix + label;
  return isKeyword(label) ? label : null;
}

/** All flags of an e-mail as the server names them, for APPEND, and to compare with what the server says. */
export function toServerFlags(email: EmailFlags & { readonly draft: boolean }, mode: LabelMode): string[] {
  const names = Object.entries(fieldByFlag).filter(([, field]) => email[field]);
  const labels = email.labels.flatMap((label) => toLabelFlag(label, mode) ?? []);
  const keywords = email.keywords.map((each) => (each.startsWith('\\') ? labelPrefix + each : each));
  return [...names.map(([name]) => name), ...(email.draft ? ['\\Draft'] : []), ...labels, ...keywords].sort();
}

/** Of the flags that users change here, those in which the server differs from the e-mail. */
export function findUnsentFlags(
  email: EmailFlags,
  confirmed: readonly string[],
  mode: LabelMode,
): Map<string, boolean> {
  return diffEmailFlags(readEmailFlags(confirmed), email, mode);
}

/** The names of people in the inbox. */
import type { Conversation, MailAddress } from './mail-types.ts';

/** Quotes around a whole name, which some programs add: `'ILUG list'`. */
const quotedName = /^(?:'(?=.*'$)|"(?=.*"$)|[\u2018\u201c\u00ab](?=.*[\u2019\u201d\u00bb]$))(.*).$/u;
const titles = /^(?:mr|mrs|ms|miss|dr|prof|herr|frau|hr|fr|sir|m|mme)\.?$/iu;
/** Suffixes after a comma that are not first names: legal forms and academic degrees. */
const suffixes = /^(?:inc|ltd|llc|llp|plc|corp|co|gmbh|ag|kg|sa|srl|bv|jr|sr|ii|iii|iv|phd|md|esq)\b\.?/iu;

/** The name of a person without quotes, else the address. */
export function getName(person: MailAddress | undefined): string {
  let name = person?.name.trim() ?? '';
  for (let inner = name; inner !== ''; inner = quotedName.exec(name)?.[1]?.trim() ?? '') name = inner;
  return name || person?.address || '';
}

/**
 * The short name of a person: `Udhay` for `Udhay Shankar`, `Ada` for `Lovelace, Ada`; the whole name if no part of it
 * is clearly a first name (`Mr. FoRK`, `Example, Inc.`).
 */
export function getShortName(person: MailAddress): string {
  const name = getName(person);
  if (name === person.address) return name.split('@')[0] || name;
  const [family = '', given, ...more] = name.split(',').map((part) => part.trim());
  if (given === undefined) return getFirstWord(name);
  return more.length > 0 || given === '' || family === '' || suffixes.test(given) ? name : getFirstWord(given);
}

function getFirstWord(name: string): string {
  const [first = '', ...rest] = name.split(/\s+/);
  return titles.test(first) && rest.length > 0 ? name : first;
}

/** The texts that are needed to list people. */
export interface PeopleTexts {
  readonly me: string;
  readonly toPeople: (names: string) => string;
}

/**
 * The people of a conversation for a row of the list: its authors, with `Me` for the account, or the recipients if only
 * the account has written. Empty if there are none.
 *
 * @param ownAddresses the addresses of the account, in lower case.
 */
export function formatPeople(
  { participants }: Pick<Conversation, 'participants'>,
  ownAddresses: ReadonlySet<string>,
  t: PeopleTexts,
): string {
  const all = participants ?? [];
  const isOwn = ({ address }: MailAddress): boolean => ownAddresses.has(address.toLowerCase());
  // Conversations that were not rebuilt since an update of the server do not contain who wrote.
  const wrote = all.some((each) => each.wrote !== undefined) ? all.filter((each) => each.wrote) : all;
  const receivers = all.filter((each) => !isOwn(each));
  if (wrote.every(isOwn) && receivers.length > 0) return t.toPeople(joinNames(receivers));
  // Several addresses of the account count as one person.
  const names = wrote.filter((each) => !isOwn(each) || each === wrote.find(isOwn));
  const [first, ...others] = names;
  return first && others.length === 0 && !isOwn(first)
    ? getName(first)
    : names.map((each) => (isOwn(each) ? t.me : getShortName(each))).join(', ');
}

function joinNames(people: readonly MailAddress[]): string {
  return people.length === 1 ? getName(people[0]) : people.map(getShortName).join(', ');
}

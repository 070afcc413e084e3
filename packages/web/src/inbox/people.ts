/** How people are called in the inbox. */
import type { Conversation, MailAddress } from './mail-types.ts';

/** Quotation marks around a whole name, as some programs write them: `'ILUG list'`. */
const quotedName = /^(?:'(?=.*'$)|"(?=.*"$)|[\u2018\u201c\u00ab](?=.*[\u2019\u201d\u00bb]$))(.*).$/u;
const titles = /^(?:mr|mrs|ms|miss|dr|prof|herr|frau|hr|fr|sir|m|mme)\.?$/iu;
/** What follows a comma in the name of a company, or of a person's degree: no first name. */
const suffixes = /^(?:inc|ltd|llc|llp|plc|corp|co|gmbh|ag|kg|sa|srl|bv|jr|sr|ii|iii|iv|phd|md|esq)\b\.?/iu;

/** What people call somebody: the name without quotation marks, else the address. */
export function getName(person: MailAddress | undefined): string {
  let name = person?.name.trim() ?? '';
  for (let inner = name; inner !== ''; inner = quotedName.exec(name)?.[1]?.trim() ?? '') name = inner;
  return name || person?.address || '';
}

/**
 * What somebody is called among others: `Udhay` for `Udhay Shankar`, `Ada` for `Lovelace, Ada`; the whole name where nothing tells
 * which part of it would do (`Mr. FoRK`, `Example, Inc.`).
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

/** The words that the line of people takes. */
export interface PeopleTexts {
  readonly me: string;
  readonly toPeople: (names: string) => string;
}

/**
 * Who a conversation is with, for a row of the list: those who wrote, `Me` for the account; of a conversation that only the account
 * wrote, to whom. Empty where nobody is named.
 *
 * @param ownAddresses addresses of the account, in lower case.
 */
export function formatPeople(
  { participants }: Pick<Conversation, 'participants'>,
  ownAddresses: ReadonlySet<string>,
  t: PeopleTexts,
): string {
  const all = participants ?? [];
  const isOwn = ({ address }: MailAddress): boolean => ownAddresses.has(address.toLowerCase());
  // A conversation that was not rebuilt yet after an update of the server does not say who wrote.
  const wrote = all.some((each) => each.wrote !== undefined) ? all.filter((each) => each.wrote) : all;
  const receivers = all.filter((each) => !isOwn(each));
  if (wrote.every(isOwn) && receivers.length > 0) return t.toPeople(joinNames(receivers));
  // Several addresses of the account are one person.
  const names = wrote.filter((each) => !isOwn(each) || each === wrote.find(isOwn));
  const [first, ...others] = names;
  return first && others.length === 0 && !isOwn(first)
    ? getName(first)
    : names.map((each) => (isOwn(each) ? t.me : getShortName(each))).join(', ');
}

function joinNames(people: readonly MailAddress[]): string {
  return people.length === 1 ? getName(people[0]) : people.map(getShortName).join(', ');
}

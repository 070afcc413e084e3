/** How people are called in the inbox. */
import type { Conversation, MailAddress } from './mail.ts';

/** Quotation marks around a whole name, as some programs write them: `'ILUG list'`. */
const quoted = /^(?:'(?=.*'$)|"(?=.*"$)|[\u2018\u201c\u00ab](?=.*[\u2019\u201d\u00bb]$))(.*).$/u;
const titles = /^(?:mr|mrs|ms|miss|dr|prof|herr|frau|hr|fr|sir|m|mme)\.?$/iu;
/** What follows a comma in the name of a company, or of a person's degree: no first name. */
const suffixes = /^(?:inc|ltd|llc|llp|plc|corp|co|gmbh|ag|kg|sa|srl|bv|jr|sr|ii|iii|iv|phd|md|esq)\b\.?/iu;

/** What people call somebody: the name without quotation marks, else the address. */
export function nameOf(person: MailAddress | undefined): string {
  let name = person?.name.trim() ?? '';
  for (let inner = name; inner !== ''; inner = quoted.exec(name)?.[1]?.trim() ?? '') name = inner;
  return name || person?.address || '';
}

/**
 * What somebody is called among others: `Udhay` for `Udhay Shankar`, `Ada` for `Lovelace, Ada`; the whole name where nothing tells
 * which part of it would do (`Mr. FoRK`, `Example, Inc.`).
 */
export function shortNameOf(person: MailAddress): string {
  const name = nameOf(person);
  if (name === person.address) return name.split('@')[0] || name;
  const [family = '', given, ...more] = name.split(',').map((part) => part.trim());
  if (given === undefined) return firstWord(name);
  return more.length > 0 || given === '' || family === '' || suffixes.test(given) ? name : firstWord(given);
}

function firstWord(name: string): string {
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
 * @param own addresses of the account, in lower case.
 */
export function peopleLine(
  { participants }: Pick<Conversation, 'participants'>,
  own: ReadonlySet<string>,
  t: PeopleTexts,
): string {
  const all = participants ?? [];
  const isOwn = ({ address }: MailAddress): boolean => own.has(address.toLowerCase());
  // A conversation that was not rebuilt yet after an update of the server does not say who wrote.
  const wrote = all.some((each) => each.wrote !== undefined) ? all.filter((each) => each.wrote) : all;
  const receivers = all.filter((each) => !isOwn(each));
  if (wrote.every(isOwn) && receivers.length > 0) return t.toPeople(named(receivers));
  // Several addresses of the account are one person.
  const names = wrote.filter((each) => !isOwn(each) || each === wrote.find(isOwn));
  return names.length === 1 && !isOwn(names[0]!)
    ? nameOf(names[0])
    : names.map((each) => (isOwn(each) ? t.me : shortNameOf(each))).join(', ');
}

function named(people: readonly MailAddress[]): string {
  return people.length === 1 ? nameOf(people[0]) : people.map(shortNameOf).join(', ');
}

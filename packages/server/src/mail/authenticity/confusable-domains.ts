/** Whether a domain can be taken for another one at a glance. */
import { domainToUnicode } from 'node:url';
import { baseDomain } from '../html/link-url.ts';

/**
 * Letters that are drawn like Latin ones, by the letter that they look like: the confusables of Unicode (UTS #39) for Cyrillic,
 * Greek, Armenian and Latin letters that domains of these scripts can contain. Accents are removed before.
 */
const lookalikes: Readonly<Record<string, string>> = {
  a: 'аαɑ',
  b: 'ЬƄ',
  c: 'сϲ',
  d: 'ԁɗ',
  e: 'еҽє',
  g: 'ɡց',
  h: 'һհ',
  i: 'іιɩıɪ',
  j: 'јϳ',
  k: 'кκ',
  l: '1ӏ|ⅼł',
  m: 'мｍ',
  n: 'пոη',
  o: '0оοօσ',
  p: 'рρ',
  q: 'ԛզ',
  r: 'гᴦ',
  s: 'ѕꜱ',
  t: 'тτ',
  u: 'υսᴜ',
  v: 'ѵνᴠ',
  w: 'ԝωѡա',
  x: 'хχ',
  y: 'уүγ',
  z: 'ᴢ',
};
const latinByLookalike: ReadonlyMap<string, string> = new Map(
  Object.entries(lookalikes).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
);
/** Pairs that look like one letter in many fonts. */
const pairs: readonly (readonly [string, string])[] = [
  ['rn', 'm'],
  ['vv', 'w'],
];
/** Shorter names differ from others by a single letter too often. */
const minLengthForTypos = 6;

/**
 * What a base domain looks like: domains that look the same have the same skeleton.
 *
 * @example `skeleton('pаypa1.com')` with a Cyrillic а is `paypal.com`
 */
export function skeleton(domain: string): string {
  const written = baseDomain(domainToUnicode(domain) || domain);
  const plain = written
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  const letters = [...plain].map((letter) => latinByLookalike.get(letter) ?? letter).join('');
  return pairs.reduce((text, [pair, letter]) => text.replaceAll(pair, letter), letters);
}

/** A domain that others may pretend to be. */
export interface KnownDomain {
  readonly domain: string;
  readonly skeleton: string;
}

/**
 * The known domain that a domain can be taken for: one that looks the same, or that differs by one letter (of names with at least six
 * letters and the same ending). Null where the domain is known itself, or resembles none.
 */
export function findResembled(domain: string, known: readonly KnownDomain[]): string | null {
  const base = baseDomain(domain);
  if (known.some((each) => each.domain === base)) return null;
  const look = skeleton(base);
  const same = known.find((each) => each.skeleton === look);
  return (same ?? known.find((each) => isTypo(look, each.skeleton)))?.domain ?? null;
}

/** Whether two skeletons have the same ending, and their names differ by one letter, or by two swapped letters. */
function isTypo(one: string, other: string): boolean {
  const [name, ending] = splitEnding(one);
  const [otherName, otherEnding] = splitEnding(other);
  if (ending !== otherEnding || Math.max(name.length, otherName.length) < minLengthForTypos) return false;
  if (Math.abs(name.length - otherName.length) > 1) return false;
  const [shorter, longer] = name.length <= otherName.length ? [name, otherName] : [otherName, name];
  let start = 0;
  while (start < shorter.length && shorter[start] === longer[start]) start += 1;
  if (shorter.length < longer.length) return shorter.slice(start) === longer.slice(start + 1);
  const isSwap =
    shorter[start] === longer[start + 1] &&
    shorter[start + 1] === longer[start] &&
    shorter.slice(start + 2) === longer.slice(start + 2);
  return isSwap || shorter.slice(start + 1) === longer.slice(start + 1);
}

function splitEnding(domain: string): readonly [name: string, ending: string] {
  const dot = domain.indexOf('.');
  return dot === -1 ? [domain, ''] : [domain.slice(0, dot), domain.slice(dot)];
}

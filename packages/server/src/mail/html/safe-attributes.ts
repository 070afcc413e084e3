import { mailLimits } from '../../protocol/mail-limits.ts';
import { remoteAddress, safeAddress } from './link-address.ts';
import { namePrefix, safeStyle } from './style-sheet.ts';

type Attributes = Record<string, string>;

const color = /^#?[a-z0-9]{1,30}$/i;
const length = /^\d{1,5}(?:\.\d{1,4})?(?:%|px|\*)?$/;
const number = /^-?\d{1,6}$/;
const count = /^\d{1,3}$/;
const word = /^[a-z0-9-]{1,30}$/i;
const anyText = /^[\s\S]{0,2000}$/;

/** Attributes that say nothing but how something looks, each with the form of its value. */
const plain: Readonly<Record<string, RegExp>> = {
  align: word,
  valign: word,
  dir: /^(?:ltr|rtl|auto)$/i,
  lang: word,
  title: anyText,
  alt: anyText,
  summary: anyText,
  bgcolor: color,
  color,
  face: /^[\p{L}\p{N}\s,'-]{1,200}$/u,
  size: /^[+-]?\d{1,2}$/,
  width: length,
  height: length,
  border: length,
  cellpadding: length,
  cellspacing: length,
  hspace: length,
  vspace: length,
  colspan: count,
  rowspan: count,
  span: count,
  start: number,
  value: number,
  type: /^(?:[1aAiI]|disc|circle|square)$/,
  nowrap: word,
  noshade: word,
  clear: word,
  scope: word,
  frame: word,
  rules: word,
  datetime: /^[\w:.+-]{1,40}$/,
};

const dataImage = /^data:image\/(?:png|jpe?g|gif|webp);base64,[a-z0-9+/]{1,}={0,2}$/i;

/** The attributes of an element that may stand, written anew from what a message gives. */
export function safeAttributes(tag: string, written: Attributes): Attributes {
  const safe: Attributes = {};
  for (const name in written) {
    const value = written[name] ?? '';
    const form = Object.hasOwn(plain, name) ? plain[name] : undefined;
    if (form?.test(value)) safe[name] = value;
    else if (Object.hasOwn(made, name)) Object.assign(safe, made[name]!(value, tag));
  }
  return safe;
}

/** Attributes that are written anew, by name. */
const made: Readonly<Record<string, (value: string, tag: string) => Attributes>> = {
  style: (value) => named('style', safeStyle(value)),
  class: (value) => named('class', prefixed(value, 50)),
  id: (value) => named('id', prefixed(value, 1)),
  href: (value, tag) => (tag === 'a' ? linkAttributes(value) : {}),
  src: (value, tag) => (tag === 'img' ? imageAttributes(value) : {}),
};

const named = (name: string, value: string): Attributes => (value === '' ? {} : { [name]: value });

function prefixed(names: string, most: number): string {
  if (names.length > 2000) return '';
  const safe = names.split(/\s+/).filter((name) => /^[\p{L}\p{N}_-]{1,100}$/u.test(name));
  return safe
    .slice(0, most)
    .map((name) => namePrefix + name)
    .join(' ');
}

/** A link opens beside the message and tells nothing of where it stood. */
function linkAttributes(written: string): Attributes {
  const href = safeAddress(written);
  return href === null ? {} : { href, rel: 'noopener noreferrer', target: '_blank' };
}

/** Parts of the message are named by `data-cid`, images of other places by `data-src`; neither loads by itself. */
function imageAttributes(written: string): Attributes {
  const source = written.trim();
  const cid = /^cid:([\s\S]{1,998})$/i.exec(source)?.[1];
  if (cid !== undefined) return { 'data-cid': decoded(cid) };
  if (/^data:/i.test(source)) {
    const tight = source.length <= mailLimits.dataImageLength ? source.replace(/\s+/g, '') : '';
    return dataImage.test(tight) ? { src: tight } : {};
  }
  const address = remoteAddress(source);
  return address === null ? {} : { 'data-src': address };
}

function decoded(cid: string): string {
  try {
    return decodeURIComponent(cid);
  } catch {
    return cid;
  }
}

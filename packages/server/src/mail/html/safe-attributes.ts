import { mailLimits } from '../../protocol/mail-limits.ts';
import { toRemoteUrl, toSafeUrl } from './link-url.ts';
import { prefixName, sanitiseStyle } from './style-sheet.ts';

type Attributes = Record<string, string>;

const color = /^#?[a-z0-9]{1,30}$/i;
const length = /^\d{1,5}(?:\.\d{1,4})?(?:%|px|\*)?$/;
const number = /^-?\d{1,6}$/;
const count = /^\d{1,3}$/;
const keyword = /^[a-z0-9-]{1,30}$/i;
const anyText = /^[\s\S]{0,2000}$/;

/** Attributes that only affect the appearance, each with the allowed form of its value. */
const presentationAttributes: Readonly<Record<string, RegExp>> = {
  align: keyword,
  valign: keyword,
  dir: /^(?:ltr|rtl|auto)$/i,
  lang: keyword,
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
  nowrap: keyword,
  noshade: keyword,
  clear: keyword,
  scope: keyword,
  frame: keyword,
  rules: keyword,
  datetime: /^[\w:.+-]{1,40}$/,
};

const dataImage = /^data:image\/(?:png|jpe?g|gif|webp);base64,[a-z0-9+/]{1,}={0,2}$/i;

/** The allowed attributes of an element, rebuilt from those of the message. */
export function sanitiseAttributes(tag: string, written: Attributes): Attributes {
  const safe: Attributes = {};
  for (const name in written) {
    const value = written[name] ?? '';
    const pattern = Object.hasOwn(presentationAttributes, name) ? presentationAttributes[name] : undefined;
    if (pattern?.test(value)) safe[name] = value;
    else if (Object.hasOwn(rewrittenAttributes, name)) Object.assign(safe, rewrittenAttributes[name]!(value, tag));
  }
  return safe;
}

/** Attributes whose values are rebuilt, by name. */
const rewrittenAttributes: Readonly<Record<string, (value: string, tag: string) => Attributes>> = {
  style: (value) => toAttribute('style', sanitiseStyle(value)),
  class: (value) => toAttribute('class', prefixNames(value, 50)),
  id: (value) => toAttribute('id', prefixNames(value, 1)),
  href: (value, tag) => (tag === 'a' ? linkAttributes(value) : {}),
  src: (value, tag) => (tag === 'img' ? imageAttributes(value) : {}),
};

const toAttribute = (name: string, value: string): Attributes => (value === '' ? {} : { [name]: value });

function prefixNames(names: string, maxNames: number): string {
  if (names.length > 2000) return '';
  const safe = names.split(/\s+/).filter((name) => /^[\p{L}\p{N}_-]{1,100}$/u.test(name));
  return safe.slice(0, maxNames).map(prefixName).join(' ');
}

/** A link opens in a new tab, without a referrer. */
function linkAttributes(written: string): Attributes {
  const href = toSafeUrl(written);
  return href === null ? {} : { href, rel: 'noopener noreferrer', target: '_blank' };
}

/** `data-cid` names a part of the message, `data-src` a remote image. Browsers load neither of them. */
function imageAttributes(written: string): Attributes {
  const source = written.trim();
  const cid = /^cid:([\s\S]{1,998})$/i.exec(source)?.[1];
  if (cid !== undefined) return { 'data-cid': decodeCid(cid) };
  if (/^data:/i.test(source)) {
    const tight = source.length <= mailLimits.dataImageLength ? source.replace(/\s+/g, '') : '';
    return dataImage.test(tight) ? { src: tight } : {};
  }
  const address = toRemoteUrl(source);
  return address === null ? {} : { 'data-src': address };
}

function decodeCid(cid: string): string {
  try {
    return decodeURIComponent(cid);
  } catch {
    return cid;
  }
}

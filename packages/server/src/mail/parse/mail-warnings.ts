import { domainToUnicode } from 'node:url';
import { baseDomain } from '../html/link-url.ts';
import type { Envelope } from './envelope.ts';
import type { MailAddress } from './parsed-mail.ts';

/**
 * What a reader is to be told of a message; docs/mail.md has the same list. A warning is a hint, never a verdict: honest messages earn
 * some (newsletters count clicks through another domain), and clever ones earn none.
 */
export const mailWarnings = {
  /** The name of the sender shows an address of another domain: `"ada@bank.example" <x@other.example>`. */
  senderNameShowsOtherAddress: 'senderNameShowsOtherAddress',
  /** A domain of the sender mixes scripts, or has letters of another script that look Latin: `аpple.example` with a Cyrillic `а`. */
  senderDomainLooksAlike: 'senderDomainLooksAlike',
  /** Replies go to another domain than the message comes from, and it is no mailing list. */
  replyGoesElsewhere: 'replyGoesElsewhere',
  /** A link's text shows another domain than the one it leads to. */
  linkShowsOtherDomain: 'linkShowsOtherDomain',
  /** The receiving server says that SPF failed. */
  spfFailed: 'spfFailed',
  /** The receiving server says that no DKIM signature holds. */
  dkimFailed: 'dkimFailed',
  /** The receiving server says that the sender's domain disowns the message. */
  dmarcFailed: 'dmarcFailed',
} as const;

export type MailWarning = (typeof mailWarnings)[keyof typeof mailWarnings];

/** The warnings about a message, each once. */
export function findWarnings(envelope: Envelope, mismatchedLink: boolean): MailWarning[] {
  const { from, replyTo, authentication, bulk } = envelope;
  const failed = (method: 'spf' | 'dkim' | 'dmarc'): boolean =>
    ['fail', 'softfail', 'permerror'].includes(authentication?.[method] ?? '');
  const found: readonly (readonly [MailWarning, boolean])[] = [
    [mailWarnings.senderNameShowsOtherAddress, from.some(nameShowsOtherAddress)],
    [mailWarnings.senderDomainLooksAlike, from.some(({ address }) => looksAlike(parseDomain(address)))],
    [mailWarnings.replyGoesElsewhere, !bulk && repliesElsewhere(from, replyTo)],
    [mailWarnings.linkShowsOtherDomain, mismatchedLink],
    [mailWarnings.spfFailed, failed('spf')],
    [mailWarnings.dkimFailed, failed('dkim')],
    [mailWarnings.dmarcFailed, failed('dmarc')],
  ];
  return found.filter(([, applies]) => applies).map(([name]) => name);
}

const parseDomain = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** Also in other spellings of the sign: `ada＠bank.example` (NFKC), `ada @ bank.example`. */
function nameShowsOtherAddress({ name, address }: MailAddress): boolean {
  if (address === '' || name.length > 1000) return false;
  const shownAddresses = name
    .normalize('NFKC')
    .matchAll(/[^\s@<>"']{1,64}\s?@\s?((?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24})/gu);
  return [...shownAddresses].some((match) => baseDomain(match[1]!) !== baseDomain(parseDomain(address)));
}

function repliesElsewhere(from: readonly MailAddress[], replyTo: readonly MailAddress[]): boolean {
  const [sender] = from;
  if (!sender?.address) return false;
  const senderDomain = baseDomain(parseDomain(sender.address));
  return replyTo.some(({ address }) => address !== '' && baseDomain(parseDomain(address)) !== senderDomain);
}

/** Letters of other scripts that are drawn as Latin ones. */
const drawnAsLatin = /^[асеорхуіјѕһԁԛԝьνορτυικαηωгптмвкнзбꓐ-ꓽ0-9-]+$/u;
const scripts = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Hebrew', 'Arabic', 'Cherokee', 'Lisu'].map(
  (name) => new RegExp(`\\p{Script=${name}}`, 'u'),
);

/** Each label alone: a label that mixes scripts, or one of none but letters that look Latin below a Latin ending. */
function looksAlike(written: string): boolean {
  const domain = toUnicode(written);
  const labels = domain.split('.');
  const latinEnding = /^[a-z0-9-]+$/i.test(labels.at(-1) ?? '');
  return labels.slice(0, latinEnding ? -1 : undefined).some((label) => {
    if (/^[a-z0-9-]*$/i.test(label)) return false;
    if (scripts.filter((script) => script.test(label)).length > 1) return true;
    return latinEnding && drawnAsLatin.test(label.toLowerCase());
  });
}

/** A domain as people see it; as it is written where its punycode is none. */
function toUnicode(domain: string): string {
  return domainToUnicode(domain) || domain;
}

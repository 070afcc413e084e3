import { domainToUnicode } from 'node:url';
import { baseDomain } from '../html/link-url.ts';
import type { ReceiverResult } from './authentication.ts';
import type { Envelope } from './envelope.ts';
import type { MailAddress } from './parsed-mail.ts';

/**
 * Warnings that readers see about a message; docs/mail-safety.md contains the same list. A warning is a hint, not a
 * verdict: some legitimate messages cause warnings (newsletters count clicks through another domain), and some
 * fraudulent ones cause none.
 */
export const mailWarnings = {
  /** The name of the sender shows an address of another domain: `"ada@bank.example" <x@other.example>`. */
  senderNameShowsOtherAddress: 'senderNameShowsOtherAddress',
  /**
   * A domain of the sender mixes scripts, or has letters of another script that look Latin: `аpple.example` with a
   * Cyrillic `а`.
   */
  senderDomainLooksAlike: 'senderDomainLooksAlike',
  /** Replies go to another domain than the message comes from, and it is no mailing list. */
  replyGoesElsewhere: 'replyGoesElsewhere',
  /** A link's text shows another domain than the one it leads to. */
  linkShowsOtherDomain: 'linkShowsOtherDomain',
  /** The message names several senders, of different domains. */
  severalSenders: 'severalSenders',
  /**
   * The domain of the sender can be mistaken for one that the account knows: its own, or one that it has written to.
   */
  senderDomainResemblesKnown: 'senderDomainResemblesKnown',
  /** Earlier messages from the sender's domain were verified, and this one is not. */
  knownSenderNotVerified: 'knownSenderNotVerified',
  /** The account has no earlier message from this address, and has not written to it. */
  firstTimeSender: 'firstTimeSender',
  /** SPF failed: the server that sent the message may not send for the domain of the envelope's sender. */
  spfFailed: 'spfFailed',
  /** No DKIM signature is valid, and at least one is broken. */
  dkimFailed: 'dkimFailed',
  /** The policy (DMARC) of the sender's domain does not confirm the message. */
  dmarcFailed: 'dmarcFailed',
} as const;

export type MailWarning = (typeof mailWarnings)[keyof typeof mailWarnings];

/** Results that mean that a method failed. */
const failures: ReadonlySet<string> = new Set(['fail', 'softfail', 'permerror']);

/** Whether a method failed: some of its results are failures, and none is a pass. */
export function hasFailed(
  results: readonly Pick<ReceiverResult, 'method' | 'result'>[],
  method: ReceiverResult['method'],
): boolean {
  const own = results.filter((each) => each.method === method);
  return own.some(({ result }) => failures.has(result)) && !own.some(({ result }) => result === 'pass');
}

/**
 * The warnings about a message that follow from its contents, each once. Other warnings are added when the message is
 * checked, and replace those about its authentication.
 */
export function findWarnings(envelope: Envelope, mismatchedLink: boolean): MailWarning[] {
  const { from, replyTo, authentication, bulk, headers } = envelope;
  const failed = (method: ReceiverResult['method']): boolean => hasFailed(authentication?.results ?? [], method);
  const found: readonly (readonly [MailWarning, boolean])[] = [
    [mailWarnings.senderNameShowsOtherAddress, from.some(nameShowsOtherAddress)],
    [mailWarnings.senderDomainLooksAlike, from.some(({ address }) => looksAlike(parseDomain(address)))],
    [mailWarnings.replyGoesElsewhere, !bulk && repliesElsewhere(from, replyTo)],
    [mailWarnings.linkShowsOtherDomain, mismatchedLink],
    [mailWarnings.severalSenders, namesSeveralSenders(from, headers)],
    [mailWarnings.spfFailed, failed('spf')],
    [mailWarnings.dkimFailed, failed('dkim')],
    [mailWarnings.dmarcFailed, failed('dmarc')],
  ];
  return found.filter(([, applies]) => applies).map(([name]) => name);
}

const parseDomain = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** Finds addresses also with other spellings of the at sign: `ada＠bank.example` (NFKC), `ada @ bank.example`. */
function nameShowsOtherAddress({ name, address }: MailAddress): boolean {
  if (address === '' || name.length > 1000) return false;
  const shownAddresses = name
    .normalize('NFKC')
    .matchAll(/[^\s@<>"']{1,64}\s?@\s?((?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24})/gu);
  return [...shownAddresses].some((match) => baseDomain(match[1]!) !== baseDomain(parseDomain(address)));
}

/** Mail programs show one sender; DMARC cannot decide which of several is meant. */
function namesSeveralSenders(from: readonly MailAddress[], headers: Envelope['headers']): boolean {
  const domains = new Set(from.flatMap(({ address }) => (address === '' ? [] : [baseDomain(parseDomain(address))])));
  return domains.size > 1 || headers.filter(([name]) => name.toLowerCase() === 'from').length > 1;
}

function repliesElsewhere(from: readonly MailAddress[], replyTo: readonly MailAddress[]): boolean {
  const [sender] = from;
  if (!sender?.address) return false;
  const senderDomain = baseDomain(parseDomain(sender.address));
  return replyTo.some(({ address }) => address !== '' && baseDomain(parseDomain(address)) !== senderDomain);
}

/** Letters of other scripts that look like Latin letters. */
const drawnAsLatin = /^[асеорхуіјѕһԁԛԝьνορτυικαηωгптмвкнзбꓐ-ꓽ0-9-]+$/u;
const scripts = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Hebrew', 'Arabic', 'Cherokee', 'Lisu'].map(
  (name) => new RegExp(`\\p{Script=${name}}`, 'u'),
);

/** Checks each label: it mixes scripts, or consists of letters that look Latin below a Latin top-level domain. */
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

/** A domain in Unicode; unchanged if its punycode is invalid. */
function toUnicode(domain: string): string {
  return domainToUnicode(domain) || domain;
}

/** Warnings about a sender that follow from the account's other mail, and from the verified authenticity of a message. */
import { baseDomain } from '../html/link-url.ts';
import { hasFailed, type MailWarning, mailWarnings } from '../parse/mail-warnings.ts';
import { findResembled, type KnownDomain } from './confusable-domains.ts';
import type { MailAuthentication, Verdict } from './mail-authentication.ts';

/** What the account knows of a sender. */
export interface SenderFacts {
  /** In lower case; null where From has no address. */
  readonly address: string | null;
  /** Whether this is the first message from the address, and the account has never written to it. */
  readonly isFirst: boolean;
  /** Whether an earlier message from the sender's domain was verified. */
  readonly isDomainVerified: boolean;
  /** Domains of the account, and those that it has written to. */
  readonly known: readonly KnownDomain[];
  /** Mailing lists, newsletters, automatic messages. */
  readonly isBulk: boolean;
}

const authenticationWarnings: ReadonlySet<string> = new Set([
  mailWarnings.spfFailed,
  mailWarnings.dkimFailed,
  mailWarnings.dmarcFailed,
]);

/**
 * All warnings of a checked message, in the order of the list.
 *
 * @param before those that were found when it was parsed. Warnings about its authentication are replaced.
 */
export function combineWarnings(
  before: readonly string[],
  authentication: MailAuthentication,
  facts: SenderFacts,
): string[] {
  const isReplaced = (each: string): boolean =>
    senderWarnings.has(each) || (authentication.verdict !== null && authenticationWarnings.has(each));
  const found = new Set<string>(before.filter((each) => !isReplaced(each)));
  for (const each of [...findAuthenticationWarnings(authentication), ...findSenderWarnings(authentication, facts)])
    found.add(each);
  const known: readonly string[] = Object.values(mailWarnings);
  return [...known.filter((each) => found.has(each)), ...[...found].filter((each) => !known.includes(each))];
}

/** Verdicts that are no reason to doubt a known sender. */
const confirmingVerdicts: ReadonlySet<Verdict> = new Set<Verdict>(['verified', 'forwarded', 'undetermined']);
const senderWarnings: ReadonlySet<string> = new Set([
  mailWarnings.senderDomainResemblesKnown,
  mailWarnings.knownSenderNotVerified,
  mailWarnings.firstTimeSender,
]);

/** A message whose sender is confirmed needs no warning about a method that failed. */
function findAuthenticationWarnings({ verdict, results }: MailAuthentication): MailWarning[] {
  if (verdict === 'verified' || verdict === 'forwarded') return [];
  const trusted = results.filter(({ source }) => source !== 'message');
  const warnings = { spf: mailWarnings.spfFailed, dkim: mailWarnings.dkimFailed, dmarc: mailWarnings.dmarcFailed };
  return (['spf', 'dkim', 'dmarc'] as const)
    .filter((method) => hasFailed(trusted, method))
    .map((method) => warnings[method]);
}

function findSenderWarnings({ verdict }: MailAuthentication, facts: SenderFacts): MailWarning[] {
  const { address, isFirst, isDomainVerified, known, isBulk } = facts;
  if (address === null) return [];
  const domain = baseDomain(address.slice(address.lastIndexOf('@') + 1));
  const isConfirmed = verdict === null || confirmingVerdicts.has(verdict);
  return [
    ...(findResembled(domain, known) === null ? [] : [mailWarnings.senderDomainResemblesKnown]),
    ...(isDomainVerified && !isConfirmed && !isBulk ? [mailWarnings.knownSenderNotVerified] : []),
    ...(isFirst && !isBulk ? [mailWarnings.firstTimeSender] : []),
  ];
}

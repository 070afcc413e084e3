/** What is stored about the authenticity of a message, and the verdict that follows from it. */
import { domainToASCII } from 'node:url';
import { baseDomain } from '../html/link-url.ts';
import type { ReceiverResults } from '../parse/authentication.ts';

/**
 * - `verified`: the domain of the sender confirms the message, by DMARC, an aligned signature or aligned SPF.
 * - `forwarded`: a forwarder that is trusted to tell the truth says that the message was verified when it arrived there (ARC).
 * - `unaligned`: another domain signed or sent it. The domain of the sender says nothing about it.
 * - `failed`: by the published policy (DMARC) of the sender's domain, the message is not from there.
 * - `undetermined`: name servers did not answer.
 * - `unverified`: nothing confirms the sender.
 */
export type Verdict = 'verified' | 'forwarded' | 'unaligned' | 'failed' | 'undetermined' | 'unverified';

/** One result of a check. */
export interface AuthenticationResult {
  readonly method: 'spf' | 'dkim' | 'dmarc' | 'arc';
  /** A result of RFC 8601: none, pass, fail, softfail, policy, neutral, temperror or permerror. */
  readonly result: string;
  /** The domain that signed (DKIM, ARC), that sent (SPF), or of the sender (DMARC), in lower case. */
  readonly domain: string | null;
  /** Whether that domain belongs to the owner of the sender's domain; null where that does not apply. */
  readonly aligned: boolean | null;
  /** Why the result is not `pass`, where that is known. */
  readonly reason: string | null;
  /**
   * `checked`: by this server. `receiver`: by the mail server of the account. `message`: from a header that anybody can
   * have written; it counts for nothing.
   */
  readonly source: 'checked' | 'receiver' | 'message';
}

/** `authentication` of an e-mail. */
export interface MailAuthentication {
  /** Null until the message is checked, and for messages that are not checked: old ones, drafts, and those of the account. */
  readonly verdict: Verdict | null;
  /** The domain of the sender, in lower case; null where From names none, or several. */
  readonly domain: string | null;
  /** ISO 8601; null where {@link verdict} is. */
  readonly checkedAt: string | null;
  readonly results: readonly AuthenticationResult[];
}

/** The domain of an address, in lower case and ASCII; null where there is none. */
export function parseDomain(address: string | null): string | null {
  const written = address?.slice(address.lastIndexOf('@') + 1).replace(/\.$/, '') ?? '';
  return domainToASCII(written) || null;
}

/** Whether two domains have one owner, as far as their names say. */
export function isAligned(domain: string | null, sender: string | null): boolean {
  return domain !== null && sender !== null && baseDomain(domain) === baseDomain(sender);
}

/** The results of a header. @param sender the domain of the sender. */
export function toResults(
  header: ReceiverResults,
  sender: string | null,
  source: 'receiver' | 'message',
): AuthenticationResult[] {
  return header.results.map(({ method, result, domain }) => ({
    method,
    result: result === 'bestguesspass' ? 'neutral' : result,
    domain,
    aligned: method === 'dkim' || method === 'spf' ? isAligned(domain, sender) : null,
    reason: null,
    source,
  }));
}

/** The authentication of a message that nothing was checked of yet: what its topmost header says. */
export function toUncheckedAuthentication(
  header: ReceiverResults | null,
  sender: string | null,
): MailAuthentication | null {
  if (!header) return null;
  return { verdict: null, domain: sender, checkedAt: null, results: toResults(header, sender, 'message') };
}

/** A header may hold the DMARC result of another address in From than the one that is shown. */
function isAbout({ method, domain }: AuthenticationResult, sender: string | null): boolean {
  return method !== 'dmarc' || domain === null || isAligned(domain, sender);
}

/**
 * What follows from results for the reader.
 *
 * @param isForwarderTrusted whether the forwarder that sealed the message (ARC) is known to check what it forwards, and found the
 * message authentic.
 */
export function decideVerdict(
  results: readonly AuthenticationResult[],
  sender: string | null,
  isForwarderTrusted: boolean,
): Verdict {
  const trusted = results.filter((each) => each.source !== 'message' && isAbout(each, sender));
  const has = (method: string, result: string): boolean =>
    trusted.some((each) => each.method === method && each.result === result);
  const passed = trusted.filter(({ method, result }) => result === 'pass' && (method === 'dkim' || method === 'spf'));
  if (sender !== null) {
    if (has('dmarc', 'pass')) return 'verified';
    if (!has('dmarc', 'fail') && passed.some(({ aligned }) => aligned)) return 'verified';
    if (isForwarderTrusted && has('arc', 'pass')) return 'forwarded';
    if (has('dmarc', 'fail')) return 'failed';
  }
  if (trusted.some(({ result }) => result === 'temperror')) return 'undetermined';
  return passed.length > 0 && sender !== null ? 'unaligned' : 'unverified';
}

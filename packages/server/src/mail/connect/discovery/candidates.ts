/** Mail servers that may be those of an address. */
import {
  imapStartTls,
  imaps,
  type MailEndpoints,
  type ServerEndpoint,
  smtps,
  submission,
} from '../server-endpoints.ts';

/** How a candidate was found, the most reliable ones first. */
export const candidateSources = ['provider', 'srv', 'autoconfig', 'mx', 'guess'] as const;
export type CandidateSource = (typeof candidateSources)[number];

/** A server that may be the right one. It is only proposed after a connection to it has succeeded. */
export interface Candidate {
  readonly protocol: 'imap' | 'smtp';
  readonly server: ServerEndpoint;
  readonly user: string;
  readonly source: CandidateSource;
}

/** An address in the parts that settings are found by. */
export interface AddressParts {
  readonly address: string;
  readonly localPart: string;
  /** In ASCII (punycode). */
  readonly domain: string;
}

/** Candidates of both sides, with the address as user name. */
export function createCandidates(
  { imap, smtp }: MailEndpoints,
  { address: user }: AddressParts,
  source: CandidateSource,
): Candidate[] {
  return [
    { protocol: 'imap', server: imap, user, source },
    { protocol: 'smtp', server: smtp, user, source },
  ];
}

/**
 * The usual names of mail servers of a domain.
 *
 * @param exchanger the host that receives the mail of the domain: small servers do everything.
 */
export function guessCandidates({ address, domain }: AddressParts, exchanger: string | null): Candidate[] {
  const candidate = (protocol: Candidate['protocol'], server: ServerEndpoint): Candidate => ({
    ...{ protocol, server },
    user: address,
    source: 'guess',
  });
  const others = [`mail.${domain}`, domain, ...(exchanger === null ? [] : [exchanger])];
  return [
    ...[`imap.${domain}`, ...others].flatMap((host) => [
      candidate('imap', imaps(host)),
      candidate('imap', imapStartTls(host)),
    ]),
    ...[`smtp.${domain}`, ...others].flatMap((host) => [
      candidate('smtp', smtps(host)),
      candidate('smtp', submission(host)),
    ]),
  ];
}

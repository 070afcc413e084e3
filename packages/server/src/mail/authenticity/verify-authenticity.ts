/** Verifies who sent a message: DKIM and ARC by its bytes, SPF and DMARC by the name servers. */
import { DnsFailure, type DnsResolver, isMissing } from '../../base/dns-resolver.ts';
import { baseDomain } from '../html/link-url.ts';
import { parseAuthenticationResults } from '../parse/authentication.ts';
import { type ConnectingServer, findConnectingServer } from './connecting-server.ts';
import {
  type AuthenticationResult,
  decideVerdict,
  isAligned,
  type MailAuthentication,
  parseDomain,
  toResults,
} from './mail-authentication.ts';
import { hasSignatures, listKeyNames } from './signature-keys.ts';
import type { KeyAnswer, SignatureReport, SignatureRequest } from './signature-report.ts';

/** A message that arrived. */
export interface ArrivedMessage {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The address in From; null where it names none, or addresses of several domains. */
  readonly sender: string | null;
  /** Reads the raw message; with `isHeadOnly`, at least its headers. */
  readonly read: (isHeadOnly: boolean) => Promise<Uint8Array>;
  /** Whether the account's mail server delivered it: an imported file may hold any headers. */
  readonly isFromServer: boolean;
}

/** What is known of the account's mail server. */
export interface ReceivingServer {
  /** The names under which it writes Authentication-Results, in lower case. */
  readonly authservIds: ReadonlySet<string>;
  /** Base domains of its hosts. */
  readonly domains: ReadonlySet<string>;
}

export interface VerifyParts {
  /** Null: no name server is queried. Then only the results of the account's mail server count. */
  readonly dns: DnsResolver | null;
  readonly checkSignatures: (request: SignatureRequest) => Promise<SignatureReport>;
}

/** Maximum DNS lookups for one message. SPF alone may need 20 of them. */
const maxLookups = 60;
const spfMilliseconds = 10_000;
const maxReasonLength = 200;

/** Forwarders and mailing lists of large providers, which check what they forward (`ARC_Community_Sealers`, and the largest mail providers). */
const trustedForwarders: ReadonlySet<string> = new Set([
  'fastmail.com',
  'gmail.com',
  'google.com',
  'googlegroups.com',
  'messagingengine.com',
  'microsoft.com',
  'outlook.com',
  'pobox.com',
  'topicbox.com',
  'zone.eu',
]);

/**
 * Verifies a message. DNS failures give `temperror`. The verdict is null where name servers are off and the account's mail server
 * says nothing.
 *
 * @param checkedAt ISO 8601.
 */
export async function verifyAuthenticity(
  message: ArrivedMessage,
  server: ReceivingServer,
  checkedAt: string,
  { dns, checkSignatures }: VerifyParts,
): Promise<MailAuthentication> {
  const senderDomain = parseDomain(message.sender);
  const isSigned = dns !== null && hasSignatures(message.headers);
  const keys = isSigned ? await readKeys(dns, listKeyNames(message.headers, senderDomain)) : {};
  const raw = await message.read(!isSigned);
  const report = await checkSignatures({ raw, keys, senderDomain });
  const domain = report.fromHeaders === 1 ? senderDomain : null;
  const receiver = message.isFromServer ? readReceiverResults(report.trace, server, domain) : [];
  if (dns === null && receiver.length === 0) return { verdict: null, domain, checkedAt: null, results: [] };
  const signatures = isSigned ? toSignatureResults(report, keys, domain) : [];
  const checks: AuthenticationResult[] = [...receiver, ...signatures];
  if (dns) {
    const lookups = limitLookups(dns);
    if (message.isFromServer && !receiver.some(({ method }) => method === 'spf'))
      checks.push(...(await checkSpf(report, server, domain, lookups)));
    if (domain !== null) checks.push(...(await checkDmarc(report, checks, lookups)));
  }
  const isTrusted =
    report.arc?.result === 'pass' &&
    report.arc.domain !== null &&
    trustedForwarders.has(baseDomain(report.arc.domain)) &&
    isAligned(report.arc.confirmedDomain, domain);
  return { verdict: decideVerdict(checks, domain, isTrusted), domain, checkedAt, results: checks };
}

async function readKeys(dns: DnsResolver, names: readonly string[]): Promise<Record<string, KeyAnswer>> {
  const answers = await Promise.all(names.map(async (name) => [name, await readKey(dns, name)] as const));
  return Object.fromEntries(answers);
}

async function readKey(dns: DnsResolver, name: string): Promise<KeyAnswer> {
  try {
    const records = await dns.resolve(name, 'TXT');
    return { records: records.map((record) => (Array.isArray(record) ? record.map(String) : [String(record)])) };
  } catch (error) {
    return { code: error instanceof DnsFailure ? error.code : 'EUNKNOWN' };
  }
}

/** The results of the account's own mail server: those of the topmost header, if it has one of the server's names. */
function readReceiverResults(
  trace: SignatureReport['trace'],
  { authservIds }: ReceivingServer,
  sender: string | null,
): AuthenticationResult[] {
  const index = trace.findIndex(([name]) => name === 'authentication-results');
  const header = index === -1 ? null : parseAuthenticationResults(trace[index]?.[1] ?? '');
  if (!header || !authservIds.has(header.authservId)) return [];
  const results = toResults(header, sender, 'receiver');
  if (results.some(({ method }) => method === 'spf')) return results;
  return [...results, ...readReceivedSpf(trace, index, sender)];
}

/** A Received-SPF header next to the trusted header: no Received header between them, so the same server wrote both. */
function readReceivedSpf(
  trace: SignatureReport['trace'],
  trusted: number,
  sender: string | null,
): AuthenticationResult[] {
  const isReceived = ([name]: readonly [string, string]): boolean => name === 'received';
  const from = trace.slice(0, trusted).findLastIndex(isReceived) + 1;
  const end = trace.findIndex((header, index) => index > trusted && isReceived(header));
  const [, value] = trace.slice(from, end === -1 ? undefined : end).find(([name]) => name === 'received-spf') ?? [];
  const result = /^\s*(none|pass|fail|softfail|neutral|temperror|permerror)\b/i.exec(value ?? '')?.[1]?.toLowerCase();
  if (value === undefined || result === undefined) return [];
  const domain = /\benvelope-from="?<?(?:[^\s"<>;]*@)?([\w.-]{1,253})/i.exec(value)?.[1]?.toLowerCase() ?? null;
  const aligned = isAligned(domain, sender);
  return [{ method: 'spf', result, domain, aligned, reason: null, source: 'receiver' }];
}

function toSignatureResults(
  { dkim, arc }: SignatureReport,
  keys: Readonly<Record<string, KeyAnswer>>,
  sender: string | null,
): AuthenticationResult[] {
  const results = dkim.map(
    ({ result, domain, reason }): AuthenticationResult => ({
      method: 'dkim',
      result,
      domain,
      aligned: isAligned(domain, sender),
      reason,
      source: 'checked',
    }),
  );
  if (!arc || arc.result === 'none') return results;
  // The library calls a seal whose key could not be read a failure.
  const isTemporary = Object.values(keys).some((answer) => 'code' in answer && !isMissing(answer.code));
  const result = arc.result === 'fail' && isTemporary ? 'temperror' : arc.result;
  return [
    ...results,
    { method: 'arc', result, domain: arc.domain, aligned: null, reason: arc.reason, source: 'checked' },
  ];
}

type Lookup = (name: string, type: string) => Promise<string[][]>;

/** The library declares only the form of TXT records; it reads all others as `node:dns` returns them. */
function limitLookups(dns: DnsResolver): Lookup {
  let count = 0;
  return async (name, type) => {
    count += 1;
    if (count > maxLookups) throw new DnsFailure('EBUSY', name, type);
    return (await dns.resolve(name, type)) as string[][];
  };
}

/** SPF of the server that connected from outside; nothing where the headers do not tell reliably which one that is. */
async function checkSpf(
  { trace }: SignatureReport,
  { domains }: ReceivingServer,
  sender: string | null,
  resolver: Lookup,
): Promise<AuthenticationResult[]> {
  const received = trace.flatMap(([name, value]) => (name === 'received' ? [value] : []));
  const client = findConnectingServer(received, domains);
  const returnPath = trace.find(([name]) => name === 'return-path')?.[1];
  const envelope = returnPath === undefined ? null : /^\s*<([^<>\s]{0,320})>/.exec(returnPath)?.[1];
  if (!client || envelope == null) return [];
  const { spf } = await import('mailauth/lib/spf/index.js');
  const { status, domain } = await spf({
    sender: envelope,
    ip: client.address,
    helo: chooseHelo(client),
    mta: 'localhost',
    resolver,
    maxElapsedTime: spfMilliseconds,
  });
  const name = domain.toLowerCase().slice(0, 253);
  return [
    {
      method: 'spf',
      result: status.result,
      domain: name,
      aligned: isAligned(name, sender),
      reason: status.result === 'pass' ? null : shorten(status.comment),
      source: 'checked',
    },
  ];
}

const chooseHelo = ({ helo, address }: ConnectingServer): string => helo ?? `[${address}]`;

/** DMARC by the results so far. A failure only counts where SPF is known: else the message might have passed by it. */
async function checkDmarc(
  { from, fromHeaders }: SignatureReport,
  results: readonly AuthenticationResult[],
  resolver: Lookup,
): Promise<AuthenticationResult[]> {
  const passed = (method: string): string[] =>
    results.flatMap((each) => (each.method === method && each.result === 'pass' && each.domain ? [each.domain] : []));
  const { evaluateDmarc } = await import('mailauth/lib/dmarc/index.js');
  const { response } = await evaluateDmarc({
    headerFrom: [...from],
    fromFields: fromHeaders,
    spfDomains: passed('spf'),
    dkimDomains: passed('dkim').map((domain) => ({ domain })),
    resolver,
  });
  if (!response) return [];
  const { status } = response;
  const isUnknown = status.result === 'fail' && !results.some(({ method }) => method === 'spf');
  return [
    {
      method: 'dmarc',
      result: isUnknown ? 'neutral' : status.result,
      domain: status.header?.from?.toLowerCase() ?? null,
      aligned: null,
      reason: isUnknown ? 'It is not known which server sent the message.' : shorten(response.error),
      source: 'checked',
    },
  ];
}

/** Comments of the library begin with the name of the server, which is meaningless here. */
function shorten(comment: string | undefined): string | null {
  return comment?.replace(/^localhost: /, '').slice(0, maxReasonLength) || null;
}

import { OutboundFailure } from '../../base/outbound-resolver.ts';
import { type Diagnosis, diagnoseReply, type ServerReply } from './diagnose-reply.ts';
import { PlainRefused } from './guarded-connection.ts';
import { MailServerProblem, type ProblemContext } from './mail-server-problem.ts';
import { findProvider } from './providers.ts';
import type { ServerLogin } from './server-login.ts';
import { cleanServerText } from './server-text.ts';

/** The properties of errors of imapflow, nodemailer and Node. */
interface ForeignError {
  readonly code?: unknown;
  readonly message?: string;
  readonly cause?: unknown;
  readonly authenticationFailed?: boolean;
  readonly serverResponseCode?: string;
  readonly response?: unknown;
  readonly responseText?: string;
  readonly responseStatus?: string;
  readonly responseCode?: number;
  readonly oauthError?: unknown;
  readonly tlsFailed?: boolean;
  readonly throttleReset?: number;
  /** The text of BYE. */
  readonly reason?: unknown;
}

/**
 * Says what went wrong with a mail server. The response code of the server counts first, because libraries mark every
 * refused sign-in as a wrong password, also one that failed because there were too many connections.
 *
 * @param error of {@link openImap}, {@link openSmtp}, or of any command on their connections.
 */
export function toMailServerProblem(error: unknown, login: ServerLogin): MailServerProblem {
  if (error instanceof MailServerProblem) return error;
  const given = (typeof error === 'object' && error !== null ? error : {}) as ForeignError;
  const text = readText(given);
  const [code, details] =
    diagnoseHost(error, login) ??
    diagnoseTls(given, login) ??
    diagnoseThrottle(given) ??
    diagnoseServer(given, text.slice(0, maxDiagnosedLength), login) ??
    diagnoseNetwork(given, login) ??
    (['serverError'] as const);
  const cure = details?.cure ?? (code === 'wrongPassword' ? findAppPasswordCure(login) : undefined);
  const serverText = hidesText.has(code) ? null : cleanServerText(text, login);
  return new MailServerProblem(code, toContext(login), { ...details, ...(cure !== undefined && { cure }), serverText });
}

/** Known texts are looked for in the beginning of a reply, which may have megabytes. */
const maxDiagnosedLength = 10_000;
/** No server may stop the synchronisation of an account for longer. */
const maxWaitMilliseconds = 86_400_000;

/** Kinds whose sentence says all that the server said. */
const hidesText: ReadonlySet<string> = new Set([
  'wrongPassword',
  'oauthNeeded',
  'tokenRevoked',
  'tlsName',
  'tlsUntrusted',
  'tlsMissing',
  'blockedAddress',
  'unreachable',
  'timedOut',
]);

/** The part of a login that problems may show. */
export function toContext({ protocol, host, port, security, user }: Omit<ServerLogin, 'auth'>): ProblemContext {
  return { protocol, host, port, security, user };
}

function readText({ response, responseText, reason }: ForeignError): string {
  const found = [responseText, response, reason].find((each) => typeof each === 'string' && each !== '');
  return (found as string | undefined) ?? '';
}

function diagnoseHost(error: unknown, { host }: ServerLogin): Diagnosis | null {
  if (!(error instanceof OutboundFailure)) return null;
  if (error instanceof PlainRefused) return ['blockedAddress', { message: error.message, cure: error.cure }];
  if (error.refused) return ['blockedAddress'];
  return [
    'unreachable',
    { message: `The host name ${host} is unknown.`, cure: 'Check the spelling of the host name.' },
  ];
}

const untrusted =
  /SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)|CERT_(?:UNTRUSTED|REVOKED|REJECTED|SIGNATURE)|INVALID_CA|INVALID_PURPOSE|self[- ]signed certificate|unable to (?:verify|get)/i;
const outdated =
  /UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|NO_CIPHERS|HANDSHAKE_FAILURE|DH_KEY_TOO_SMALL|EE_KEY_TOO_SMALL/i;
const plain =
  /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNEXPECTED_MESSAGE|HTTP_REQUEST|wrong version number|packet length too long/i;

/** Libraries replace the code of a failed handshake and keep its text, so both are looked at. */
function diagnoseTls({ code, message = '', tlsFailed, cause }: ForeignError, { host }: ServerLogin): Diagnosis | null {
  const text = `${String(code)} ${message} ${String((cause as ForeignError | undefined)?.code ?? '')}`;
  if (/ERR_TLS_CERT_ALTNAME|altnames/i.test(text)) return ['tlsName'];
  if (/CERT_HAS_EXPIRED|certificate has expired/i.test(text))
    return ['tlsUntrusted', { message: `The certificate of ${host} has expired.`, cure: renewCertificate }];
  if (/CERT_NOT_YET_VALID|not yet valid/i.test(text))
    return ['tlsUntrusted', { message: `The certificate of ${host} is not valid yet.`, cure: renewCertificate }];
  if (untrusted.test(text)) return ['tlsUntrusted'];
  if (plain.test(text) || /does not support STARTTLS|STARTTLS is not possible/i.test(text)) return ['tlsMissing'];
  if (outdated.test(text))
    return [
      'tlsUntrusted',
      {
        message: `${host} only offers outdated encryption.`,
        cure: 'Ask the operator of the mail server to support TLS 1.2 or newer.',
      },
    ];
  return tlsFailed === true || code === 'ETLS' || code === 'EPROTO' ? ['tlsMissing'] : null;
}

const renewCertificate = 'Ask the operator of the mail server to renew the certificate.';

function diagnoseThrottle({ code, throttleReset }: ForeignError): Diagnosis | null {
  if (code !== 'ETHROTTLE') return null;
  const wait = Number(throttleReset);
  return ['throttled', { waitMilliseconds: wait > 0 ? Math.min(wait, maxWaitMilliseconds) : null }];
}

function diagnoseServer(error: ForeignError, text: string, login: ServerLogin): Diagnosis | null {
  const { serverResponseCode, responseCode, responseStatus, authenticationFailed, code } = error;
  const isReply =
    responseCode !== undefined || responseStatus !== undefined || serverResponseCode !== undefined || text !== '';
  const reply: ServerReply = {
    responseCode: serverResponseCode ?? findResponseCode(text),
    status: responseCode ?? null,
    text,
    refusesLogin: authenticationFailed === true || code === 'EAUTH',
  };
  if (isReply) return diagnoseReply(reply, login);
  if (!reply.refusesLogin) return null;
  // The library refused before it sent anything: the server offers no way to sign in that fits.
  return login.auth.kind === 'oauth2'
    ? ['protocol', { message: `${login.host} offers no sign-in by OAuth 2.`, cure: 'Use a password.', retry: 'never' }]
    : ['oauthNeeded', { message: `${login.host} offers no sign-in by password.` }];
}

/** The response code in a text such as `[ALERT] Too many connections`. */
function findResponseCode(text: string): string | null {
  return /^\s*\[([A-Z-]+)[\] ]/i.exec(text)?.[1]?.toUpperCase() ?? null;
}

const refusals: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  ECONNECTION: 'closed the connection',
  ESOCKET: 'closed the connection',
  NoConnection: 'closed the connection',
  EConnectionClosed: 'closed the connection',
  ClosedAfterConnectTLS: 'closed the connection',
  ClosedAfterConnectText: 'closed the connection',
};

function diagnoseNetwork({ code, message = '' }: ForeignError, { host, port }: ServerLogin): Diagnosis | null {
  const name = String(code);
  if (/TIMEOUT|TIMEDOUT/.test(name) || /timed? ?out/i.test(message)) return ['timedOut'];
  const refusal = refusals[/ECONNREFUSED/.test(message) ? 'ECONNREFUSED' : name];
  if (refusal) return ['unreachable', { message: `${host} ${refusal} on port ${port}.` }];
  if (/^E(?:NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL|DNS)$/.test(name)) return ['unreachable'];
  if (/TooLarge|TooMany/.test(name))
    return ['protocol', { message: `${host} sent more than this server accepts in one reply.` }];
  if (/^Parser|EPROTOCOL|UnexpectedTag|MissingTag|InvalidResponse/.test(name)) return ['protocol'];
  return null;
}

/** Providers that only accept app passwords say that the password is wrong. */
function findAppPasswordCure({ host, auth }: ServerLogin): string | undefined {
  const provider = findProvider(host);
  if (auth.kind !== 'password' || !provider?.appPasswordUrl) return undefined;
  return `${provider.name} accepts no usual passwords from mail programs. Create an app password at ${provider.appPasswordUrl} and enter it here.`;
}

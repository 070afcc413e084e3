/** Why a mail server cannot be used, in words for the person who owns the account. */

/** The kinds of problems; part of the API: `accounts.problem.code`, `accounts:test`. */
export const problemCodes = [
  'notConfigured',
  'wrongPassword',
  'appPasswordNeeded',
  'oauthNeeded',
  'tokenRevoked',
  'imapDisabled',
  'smtpDisabled',
  'tlsName',
  'tlsUntrusted',
  'tlsMissing',
  'connectionLimit',
  'blockedAddress',
  'unreachable',
  'timedOut',
  'overQuota',
  'throttled',
  'protocol',
  'serverError',
] as const;
export type ProblemCode = (typeof problemCodes)[number];

/**
 * When a retry can help: `soon` after seconds (the network), `later` after minutes (limits of the server), `never` before
 * somebody changes settings.
 */
export type ProblemRetry = 'soon' | 'later' | 'never';

/** What a problem is about. */
export interface ProblemContext {
  readonly protocol: 'imap' | 'smtp';
  readonly host: string;
  readonly port: number;
  readonly security: 'tls' | 'starttls' | 'none';
  readonly user: string;
}

interface ProblemWords {
  readonly retry: ProblemRetry;
  readonly message: (context: ProblemContext) => string;
  readonly cure: (context: ProblemContext) => string;
}

const nameProtocol = ({ protocol }: ProblemContext): string => protocol.toUpperCase();
const otherPorts = ({ protocol }: ProblemContext): string =>
  protocol === 'imap' ? '993 with TLS, 143 with STARTTLS' : '465 with TLS, 587 with STARTTLS';

/** The usual sentences of each kind. */
const words: Readonly<Record<ProblemCode, ProblemWords>> = {
  notConfigured: {
    retry: 'never',
    message: (context) => `The account has no complete ${nameProtocol(context)} settings.`,
    cure: () => 'Enter the server, the user name and the password of the account.',
  },
  wrongPassword: {
    retry: 'never',
    message: ({ host, user }) => `${host} does not accept this password for ${user}.`,
    cure: () =>
      'Check the user name and enter the password again. Some providers want the whole e-mail address as user name.',
  },
  appPasswordNeeded: {
    retry: 'never',
    message: ({ host, user }) => `${host} does not accept the usual password of ${user} from mail programs.`,
    cure: () =>
      'Create an app password in the security settings of the mail provider, and enter it here in place of the usual password.',
  },
  oauthNeeded: {
    retry: 'never',
    message: ({ host }) => `${host} does not accept passwords any more.`,
    cure: () => 'Sign in with the mail provider (OAuth 2) in place of a password.',
  },
  tokenRevoked: {
    retry: 'never',
    message: ({ host, user }) => `${host} does not let this server act for ${user} any more.`,
    cure: () => 'Sign in with the mail provider again.',
  },
  imapDisabled: {
    retry: 'never',
    message: ({ host, user }) => `IMAP is switched off for ${user} at ${host}.`,
    cure: () => 'Allow IMAP in the settings of the mailbox at the mail provider, or ask its administrator to do so.',
  },
  smtpDisabled: {
    retry: 'never',
    message: ({ host, user }) => `Sending by SMTP is switched off for ${user} at ${host}.`,
    cure: () => 'Ask the administrator of the mail provider to allow authenticated SMTP for this mailbox.',
  },
  tlsName: {
    retry: 'never',
    message: ({ host }) => `The certificate of the server is for another name than ${host}.`,
    cure: () => 'Enter the host name that the provider names in its instructions. It must be in the certificate.',
  },
  tlsUntrusted: {
    retry: 'never',
    message: ({ host }) => `The certificate of ${host} is not signed by an authority that this server trusts.`,
    cure: () =>
      'Ask the operator of the mail server for a certificate of a public authority, or ask the operator of this server to add its authority to MAIL_CA_FILE.',
  },
  tlsMissing: {
    retry: 'never',
    message: ({ host, port, security }) =>
      security === 'starttls'
        ? `${host} does not offer STARTTLS on port ${port}.`
        : `${host} does not speak TLS on port ${port}.`,
    cure: (context) =>
      `Choose another port or kind of encryption (usual are ${otherPorts(context)}). The password was not sent.`,
  },
  connectionLimit: {
    retry: 'later',
    message: ({ host, user }) => `${host} allows no further connection of ${user} now.`,
    cure: () => 'Close mail programs that use the account, or wait. The server tries again by itself.',
  },
  blockedAddress: {
    retry: 'never',
    message: ({ host }) => `${host} is inside a private network, which accounts may not use.`,
    cure: () => 'Enter a public mail server, or ask the operator to add it to MAIL_ALLOWED_PRIVATE_HOSTS.',
  },
  unreachable: {
    retry: 'soon',
    message: ({ host, port }) => `${host} cannot be reached on port ${port}.`,
    cure: (context) => `Check the host name and the port (usual are ${otherPorts(context)}).`,
  },
  timedOut: {
    retry: 'soon',
    message: ({ host, port }) => `${host} did not reply in time on port ${port}.`,
    cure: (context) =>
      `Check the port and the kind of encryption (usual are ${otherPorts(context)}). If they are right, the mail server is overloaded: wait.`,
  },
  overQuota: {
    retry: 'later',
    message: ({ host, user }) => `The mailbox of ${user} at ${host} is full.`,
    cure: () => 'Delete mail, or ask the mail provider for more space.',
  },
  throttled: {
    retry: 'later',
    message: ({ host, user }) => `${host} slows ${user} down, because there were too many requests.`,
    cure: () => 'Wait. The server tries again by itself.',
  },
  protocol: {
    retry: 'later',
    message: (context) => `${context.host} does not behave like a ${nameProtocol(context)} server.`,
    cure: (context) => `Check the host name and the port (usual are ${otherPorts(context)}).`,
  },
  serverError: {
    retry: 'later',
    message: ({ host }) => `${host} refuses the request.`,
    cure: () => 'Wait. The server tries again by itself. If that does not help, ask the operator of the mail server.',
  },
};

/** Words that replace the usual ones of a kind. */
export interface ProblemDetails {
  readonly message?: string;
  readonly cure?: string;
  readonly retry?: ProblemRetry;
  /** What the server said, which is appended to the message. It contains no secret. */
  readonly serverText?: string | null;
  /** Milliseconds that the server asks to wait. */
  readonly waitMilliseconds?: number | null;
}

/** A mail server cannot be used. Message and cure are complete sentences, and contain no secret and no private address. */
export class MailServerProblem extends Error {
  readonly code: ProblemCode;
  readonly cure: string;
  readonly retry: ProblemRetry;
  /** Milliseconds that the server asks to wait; null where it does not say. */
  readonly waitMilliseconds: number | null;

  constructor(code: ProblemCode, context: ProblemContext, details: ProblemDetails = {}) {
    const { message, cure, retry } = words[code];
    const { serverText = null } = details;
    super(`${details.message ?? message(context)}${serverText === null ? '' : ` It said: “${serverText}”`}`);
    this.name = 'MailServerProblem';
    this.code = code;
    this.cure = details.cure ?? cure(context);
    this.retry = details.retry ?? retry;
    this.waitMilliseconds = details.waitMilliseconds ?? null;
  }
}

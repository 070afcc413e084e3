/** A mail server as settings of an account name it, without the user. */
export interface ServerEndpoint {
  readonly host: string;
  readonly port: number;
  readonly security: 'tls' | 'starttls' | 'none';
}

/** Settings of both sides, as a provider publishes them. */
export interface MailEndpoints {
  readonly imap: ServerEndpoint;
  readonly smtp: ServerEndpoint;
}

const withTls = (host: string, port: number): ServerEndpoint => ({ host, port, security: 'tls' });
const withStartTls = (host: string, port: number): ServerEndpoint => ({ host, port, security: 'starttls' });

/** IMAP with TLS on its usual port. */
export const imaps = (host: string): ServerEndpoint => withTls(host, 993);
/** SMTP submission with TLS on its usual port. */
export const smtps = (host: string): ServerEndpoint => withTls(host, 465);
/** IMAP with STARTTLS on its usual port. */
export const imapStartTls = (host: string): ServerEndpoint => withStartTls(host, 143);
/** SMTP submission with STARTTLS on its usual port. */
export const submission = (host: string): ServerEndpoint => withStartTls(host, 587);

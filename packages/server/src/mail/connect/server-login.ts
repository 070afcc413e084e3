/** How to sign in to a mail server. */

/** The proof of identity that is sent to a mail server. */
export type ServerAuth =
  | { readonly kind: 'password'; readonly password: string }
  | {
      readonly kind: 'oauth2';
      readonly accessToken: string;
      /** Gets a new access token after the server has refused this one; once for each login. */
      readonly renew?: () => Promise<ServerLogin>;
    };

/** A mail server and the sign-in for it. Contains secrets: never log it or send it to a client. */
export interface ServerLogin {
  readonly protocol: 'imap' | 'smtp';
  readonly host: string;
  readonly port: number;
  /**
   * `starttls`: nothing is sent before TLS is active; there is no fallback to plain text. `none`: only for private
   * networks.
   */
  readonly security: 'tls' | 'starttls' | 'none';
  readonly user: string;
  readonly auth: ServerAuth;
}

/** The secret of a login: a password or an access token. */
export function getSecret({ auth }: ServerLogin): string {
  return auth.kind === 'password' ? auth.password : auth.accessToken;
}

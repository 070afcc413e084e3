/** Members of an account's body that are stored encrypted and never shown. */
export const accountSecrets: ReadonlySet<string> = new Set([
  'password',
  'smtpPassword',
  'refreshToken',
  'clientSecret',
]);

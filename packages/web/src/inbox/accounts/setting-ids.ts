import type { AccountProblem } from '../mail-types.ts';
import type { AccountRecord } from './account-data.ts';

/** The inputs of the account form with which problems are solved. */
export const settingIds = {
  host: 'mail-account-imap-host',
  method: 'mail-account-sign-in-method',
  password: 'mail-account-password',
} as const;
export type Setting = keyof typeof settingIds;

const settings: Readonly<Record<string, Setting>> = {
  wrongPassword: 'password',
  appPasswordNeeded: 'password',
  notConfigured: 'password',
  oauthNeeded: 'method',
  tlsName: 'host',
  tlsUntrusted: 'host',
  tlsMissing: 'host',
  blockedAddress: 'host',
};

/** The setting that solves a problem; null if no setting of the account does. */
export function findSetting({ code }: AccountProblem, { auth }: Pick<AccountRecord, 'auth'>): Setting | null {
  const setting = settings[code] ?? null;
  // There is no password where the account signs in with its mail provider.
  return setting === 'password' && auth === 'oauth2' ? 'method' : setting;
}

/** Scrolls to an input of the account form and gives it the focus. */
export function focusSetting(setting: Setting): void {
  const input = document.getElementById(settingIds[setting]);
  input?.scrollIntoView({ block: 'center' });
  input?.focus({ preventScroll: true });
}

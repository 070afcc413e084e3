/** `auth:`: who calls, and how people come by accounts and back into them. */
import { body, reply } from './operation.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, whole } from './schema-parts.ts';
import { everybody, inSession, numbered, one, signedIn, type WrittenOperation } from './written-operation.ts';

const entrance = reply('The user, and a token that lasts seven days after its last use.', schemaRef('SignedIn'));
const done = reply('1', one);

export const authOperations: readonly WrittenOperation[] = [
  {
    action: 'auth:signIn',
    summary: 'Sign in with e-mail address or user name',
    may: everybody,
    body: body(schemaRef('Credentials')),
    success: entrance,
    open: true,
  },
  {
    action: 'auth:signUp',
    summary: 'Make an account for oneself',
    description: 'Refused where the server does not open the application to everybody.',
    may: everybody,
    body: body(schemaRef('NewAccount')),
    success: entrance,
    open: true,
  },
  {
    action: 'auth:lostPassword',
    summary: 'Have a link mailed, to set another password with',
    description: 'The reply is the same whether somebody has that address or not.',
    may: everybody,
    body: body(schemaRef('LostPassword')),
    success: done,
    open: true,
  },
  {
    action: 'auth:resetPassword',
    summary: 'Set another password with the token of a mailed link',
    description: 'Works once. Ends all sessions of the user.',
    may: everybody,
    body: body(schemaRef('PasswordReset')),
    success: done,
    open: true,
  },
  {
    action: 'auth:setup',
    summary: 'Make the first admin with the token that the server printed at its start',
    may: everybody,
    body: body(schemaRef('FirstAdmin')),
    success: entrance,
    open: true,
  },
  {
    action: 'auth:keep',
    summary: 'Keep the session in the browser, for auth:resume',
    description:
      'Only for pages of this server, which send X-Requested-With: tablinum. Stores the token in an HttpOnly cookie that only auth:resume reads.',
    may: inSession,
    body: body(schemaRef('KeptSession')),
    success: done,
  },
  {
    action: 'auth:resume',
    summary: 'Return the session that the browser keeps, and the options of the sign-in page',
    description:
      'Only for pages of this server, which send X-Requested-With: tablinum. No other action reads the cookie.',
    may: everybody,
    success: reply('The session or null, and the options of the sign-in page.', schemaRef('Resumed')),
    open: true,
  },
  { action: 'auth:signOut', summary: 'Sign out', may: signedIn, success: done },
  {
    action: 'auth:check',
    method: 'get',
    summary: 'Who the credential stands for',
    may: signedIn,
    success: reply('User, role, application and credential.', schemaRef('Check')),
  },
  {
    action: 'auth:changePassword',
    summary: 'Set another password for oneself',
    description: 'Ends all other sessions of the user.',
    may: inSession,
    body: body(schemaRef('PasswordChange')),
    success: done,
  },
  {
    action: 'auth:sessions',
    method: 'get',
    summary: 'Where one is signed in',
    may: inSession,
    success: reply('The sessions of the user, the newest first.', listOf(schemaRef('Session'))),
  },
  {
    action: 'auth:endSession',
    summary: 'End one of the sessions',
    may: inSession,
    parameters: [numbered('session', 7)],
    success: done,
  },
  {
    action: 'auth:endOtherSessions',
    summary: 'End all sessions but this one',
    may: inSession,
    success: reply('How many were ended.', { ...whole, minimum: 0 }),
  },
];

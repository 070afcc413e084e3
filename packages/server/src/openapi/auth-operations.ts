/** The `auth` actions: sign-in, sign-up, sessions, passwords and the current caller. */
import { jsonBody, jsonReply } from './operation.ts';
import {
  allowEveryone,
  hasSession,
  idParameter,
  isSignedIn,
  type OperationDefinition,
  oneSchema,
} from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const signInReply = jsonReply('The user, and a token that lasts seven days after its last use.', schemaRef('SignedIn'));
const doneReply = jsonReply('1', oneSchema);

export const authOperations: readonly OperationDefinition[] = [
  {
    action: 'auth:signIn',
    summary: 'Sign in with e-mail address or user name',
    may: allowEveryone,
    body: jsonBody(schemaRef('Credentials')),
    success: signInReply,
    open: true,
  },
  {
    action: 'auth:signUp',
    summary: 'Sign up: create an account for yourself',
    description: 'Refused unless the server allows sign-up in the application.',
    may: allowEveryone,
    body: jsonBody(schemaRef('NewAccount')),
    success: signInReply,
    open: true,
  },
  {
    action: 'auth:lostPassword',
    summary: 'Request an e-mail with a link for setting a new password',
    description: 'The reply is the same whether or not an account has the address.',
    may: allowEveryone,
    body: jsonBody(schemaRef('LostPassword')),
    success: doneReply,
    open: true,
  },
  {
    action: 'auth:resetPassword',
    summary: 'Set a new password with the token of the e-mailed link',
    description: 'Works once. Ends all sessions of the user.',
    may: allowEveryone,
    body: jsonBody(schemaRef('PasswordReset')),
    success: doneReply,
    open: true,
  },
  {
    action: 'auth:setup',
    summary: 'Create the first admin with the token that the server printed at its start',
    may: allowEveryone,
    body: jsonBody(schemaRef('FirstAdmin')),
    success: signInReply,
    open: true,
  },
  {
    action: 'auth:keep',
    summary: 'Store the session in a cookie, for auth:resume',
    description:
      'Only for pages of this server, which send X-Requested-With: tablinum. Stores the token in an HttpOnly cookie that only auth:resume reads.',
    may: hasSession,
    body: jsonBody(schemaRef('KeptSession')),
    success: doneReply,
  },
  {
    action: 'auth:resume',
    summary: 'Return the session in the cookie, and the options of the sign-in page',
    description:
      'Only for pages of this server, which send X-Requested-With: tablinum. No other action reads the cookie.',
    may: allowEveryone,
    success: jsonReply('The session or null, and the options of the sign-in page.', schemaRef('Resumed')),
    open: true,
  },
  { action: 'auth:signOut', summary: 'Sign out', may: isSignedIn, success: doneReply },
  {
    action: 'auth:check',
    method: 'get',
    summary: 'The user and role of the credential',
    may: isSignedIn,
    success: jsonReply('User, role, application and credential.', schemaRef('Check')),
  },
  {
    action: 'auth:changePassword',
    summary: 'Change your password',
    description: 'Ends all other sessions of the user.',
    may: hasSession,
    body: jsonBody(schemaRef('PasswordChange')),
    success: doneReply,
  },
  {
    action: 'auth:sessions',
    method: 'get',
    summary: 'List your sessions',
    may: hasSession,
    success: jsonReply('The sessions of the user, newest first.', schema.array(schemaRef('Session'))),
  },
  {
    action: 'auth:endSession',
    summary: 'End one of your sessions',
    may: hasSession,
    parameters: [idParameter('session', 7)],
    success: doneReply,
  },
  {
    action: 'auth:endOtherSessions',
    summary: 'End all of your other sessions',
    may: hasSession,
    success: jsonReply('The number of ended sessions.', { ...schema.integer, minimum: 0 }),
  },
];

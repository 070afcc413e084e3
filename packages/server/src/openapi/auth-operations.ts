/** `auth:`: who calls, and how people come by accounts and back into them. */
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
import { arraySchema, integerSchema } from './schema-parts.ts';

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
    summary: 'Make an account for oneself',
    description: 'Refused where the server does not open the application to everybody.',
    may: allowEveryone,
    body: jsonBody(schemaRef('NewAccount')),
    success: signInReply,
    open: true,
  },
  {
    action: 'auth:lostPassword',
    summary: 'Have a link mailed, to set another password with',
    description: 'The reply is the same whether somebody has that address or not.',
    may: allowEveryone,
    body: jsonBody(schemaRef('LostPassword')),
    success: doneReply,
    open: true,
  },
  {
    action: 'auth:resetPassword',
    summary: 'Set another password with the token of a mailed link',
    description: 'Works once. Ends all sessions of the user.',
    may: allowEveryone,
    body: jsonBody(schemaRef('PasswordReset')),
    success: doneReply,
    open: true,
  },
  {
    action: 'auth:setup',
    summary: 'Make the first admin with the token that the server printed at its start',
    may: allowEveryone,
    body: jsonBody(schemaRef('FirstAdmin')),
    success: signInReply,
    open: true,
  },
  {
    action: 'auth:keep',
    summary: 'Keep the session in the browser, for auth:resume',
    description:
      'Only for pages of this server, which send X-Requested-With: tablinum. Stores the token in an HttpOnly cookie that only auth:resume reads.',
    may: hasSession,
    body: jsonBody(schemaRef('KeptSession')),
    success: doneReply,
  },
  {
    action: 'auth:resume',
    summary: 'Return the session that the browser keeps, and the options of the sign-in page',
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
    summary: 'Who the credential stands for',
    may: isSignedIn,
    success: jsonReply('User, role, application and credential.', schemaRef('Check')),
  },
  {
    action: 'auth:changePassword',
    summary: 'Set another password for oneself',
    description: 'Ends all other sessions of the user.',
    may: hasSession,
    body: jsonBody(schemaRef('PasswordChange')),
    success: doneReply,
  },
  {
    action: 'auth:sessions',
    method: 'get',
    summary: 'Where one is signed in',
    may: hasSession,
    success: jsonReply('The sessions of the user, the newest first.', arraySchema(schemaRef('Session'))),
  },
  {
    action: 'auth:endSession',
    summary: 'End one of the sessions',
    may: hasSession,
    parameters: [idParameter('session', 7)],
    success: doneReply,
  },
  {
    action: 'auth:endOtherSessions',
    summary: 'End all sessions but this one',
    may: hasSession,
    success: jsonReply('How many were ended.', { ...integerSchema, minimum: 0 }),
  },
];

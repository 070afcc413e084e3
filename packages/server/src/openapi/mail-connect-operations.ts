/** Operations that connect to the mail servers of accounts. */
import { candidateSources } from '../mail/connect/discovery/candidates.ts';
import { problemCodes } from '../mail/connect/mail-server-problem.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { changesAccount } from './mail-parameters.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, idParameter, type OperationDefinition } from './operation-definition.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

const addressSchema: JsonSchema = { type: 'string', format: 'idn-email', maxLength: 320 };
const secretSchema: JsonSchema = { type: ['string', 'null'], minLength: 1, maxLength: 4096, writeOnly: true };
const portSchema: JsonSchema = { type: 'integer', minimum: 1, maximum: 65_535 };
const securitySchema: JsonSchema = { enum: ['tls', 'starttls', 'none'] };
const sourceSchema: JsonSchema = { enum: [...candidateSources] };

const orNull = (value: JsonSchema): JsonSchema => ({ anyOf: [value, { type: 'null' }] });

const problemSchema = orNull({
  ...schema.object(
    {
      code: { enum: [...problemCodes] },
      message: { type: 'string', description: 'What is wrong, in a sentence for the user.' },
      cure: { type: 'string', description: 'What helps, in a sentence for the user.' },
      retry: {
        enum: ['soon', 'later', 'never'],
        description: 'When a retry can help. "never": a setting must be changed first.',
      },
    },
    ['code', 'message', 'cure', 'retry'],
  ),
});

const serverInput = schema.object(
  { host: schema.string, port: portSchema, security: securitySchema, user: schema.stringOrNull },
  ['host', 'port'],
);

const discoveredServer = orNull(
  schema.object(
    {
      host: schema.string,
      port: portSchema,
      security: securitySchema,
      user: schema.string,
      source: sourceSchema,
      needsConfirmation: {
        type: 'boolean',
        description:
          'The user should check the host name: it comes from an unsigned DNS record and is outside the domain of the address.',
      },
      offersPassword: schema.boolean,
      offersOauth: schema.boolean,
    },
    ['host', 'port', 'security', 'user', 'source', 'needsConfirmation', 'offersPassword', 'offersOauth'],
  ),
);

const triedSchema = schema.object(
  {
    protocol: { enum: ['imap', 'smtp'] },
    host: schema.string,
    port: portSchema,
    security: securitySchema,
    source: sourceSchema,
    problem: problemSchema,
  },
  ['protocol', 'host', 'port', 'security', 'source', 'problem'],
);

const providerSchema = orNull(
  schema.object(
    {
      name: schema.string,
      oauth: { enum: ['google', 'microsoft', null], description: 'The sign-in that the provider offers, or null.' },
      appPasswordUrl: { ...schema.stringOrNull, description: 'Where to create an app password, if only those work.' },
    },
    ['name', 'oauth', 'appPasswordUrl'],
  ),
);

const sideSchema = orNull(schema.complete({ ok: schema.boolean, problem: problemSchema }));

const mayWriteAccounts = (subject: Subject): boolean =>
  hasGrants(['accounts', 'create'])(subject) || hasGrants(['accounts', 'update'])(subject);

export const mailConnectOperations: readonly OperationDefinition[] = [
  {
    action: 'accounts:discover',
    summary: 'Find the mail servers of an address',
    description:
      'Looks at known providers, at the service records, autoconfig files and mail exchangers of the domain, and at the usual host names. A server is only proposed after a connection with TLS to it has succeeded. It takes up to 25 seconds.',
    may: mayWriteAccounts,
    body: jsonBody(schema.complete({ address: addressSchema })),
    success: jsonReply(
      'The servers; null for a side for which none was found.',
      schema.object(
        {
          address: schema.string,
          provider: providerSchema,
          imap: discoveredServer,
          smtp: discoveredServer,
          tried: schema.array(triedSchema),
        },
        ['address', 'provider', 'imap', 'smtp', 'tried'],
      ),
    ),
  },
  {
    action: 'accounts:test',
    summary: 'Sign in to the mail servers of an account',
    description:
      'With filterByTk, the stored account is tested, with the members of the body in place of the stored settings. A stored password is only sent to the server that it was stored for. Nothing is saved.',
    may: mayWriteAccounts,
    parameters: [{ ...idParameter('account', 1), required: false }],
    body: jsonBody(
      schema.object({
        address: addressSchema,
        imap: serverInput,
        smtp: serverInput,
        password: secretSchema,
        smtpPassword: secretSchema,
      }),
      false,
    ),
    success: jsonReply(
      'The result of each side; null for a side without a server.',
      schema.complete({ imap: sideSchema, smtp: sideSchema }),
    ),
  },
  {
    action: 'accounts:authorize',
    summary: 'Begin a sign-in with the mail provider of an account',
    description:
      'Open the URL in a browser. The provider sends the browser back to /mail-sign-in of this server with the parameters "state" and "code", which accounts:finishAuthorization takes.',
    ...changesAccount,
    success: jsonReply(
      'The address of the provider, valid for one sign-in of this user.',
      schema.complete({ url: { type: 'string', format: 'iri' }, expiresAt: schema.dateTime }),
    ),
  },
  {
    action: 'accounts:finishAuthorization',
    summary: 'Finish a sign-in with a mail provider',
    description: 'Only the user who began the sign-in can finish it, once and within ten minutes.',
    may: hasGrants(['accounts', 'update']),
    body: jsonBody(
      schema.complete({ state: { type: 'string', maxLength: 4096 }, code: { type: 'string', maxLength: 4096 } }),
    ),
    success: jsonReply('The account.', schema.complete({ id: schema.integer, signedIn: { const: true } })),
  },
];

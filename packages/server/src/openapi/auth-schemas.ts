import { passwordLength } from '../identity/password-rules.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import * as schema from './schema-parts.ts';

const { min: minLength, max: maxLength } = passwordLength;
const nonEmptyText: JsonSchema = { type: 'string', minLength: 1 };
const secret: JsonSchema = { ...nonEmptyText, writeOnly: true };
const newPassword: JsonSchema = { type: 'string', minLength, maxLength, writeOnly: true };
const email: JsonSchema = { ...nonEmptyText, maxLength: 320 };
const nickname: JsonSchema = { type: ['string', 'null'], minLength: 1, maxLength: 255 };
const userProperties = {
  id: schema.integer,
  email: schema.stringOrNull,
  username: schema.stringOrNull,
  nickname: schema.stringOrNull,
  status: { type: 'string', enum: ['active', 'suspended'] },
  defaultRole: schema.stringOrNull,
  createdAt: schema.dateTime,
  updatedAt: schema.dateTime,
  roles: { ...schema.array(schema.string), description: 'The names of the roles that the user holds.' },
};

/** Schemas of actions without a credential. */
export const accountSchemas: Readonly<Record<string, JsonSchema>> = {
  Credentials: {
    ...schema.object(
      {
        email: schema.string,
        account: schema.string,
        username: schema.string,
        password: { ...schema.string, writeOnly: true },
      },
      ['password'],
    ),
    anyOf: [{ required: ['email'] }, { required: ['account'] }, { required: ['username'] }],
    examples: [{ email: 'ann@example.com', password: 'correct horse battery' }],
  },
  SignedIn: schema.object(
    {
      user: {
        ...schema.object(userProperties, Object.keys(userProperties)),
        description: 'The user, with the fields that the application has added to users.',
        additionalProperties: true,
      },
      token: { type: 'string', description: 'For the header Authorization: Bearer <token>.' },
    },
    ['user', 'token'],
  ),
  Resumed: schema.object(
    {
      session: {
        anyOf: [
          schema.object(
            {
              user: {
                ...schema.object(userProperties, Object.keys(userProperties)),
                description: 'The user, with the fields that the application has added to users.',
                additionalProperties: true,
              },
              token: { type: 'string', description: 'For the header Authorization: Bearer <token>.' },
              persistent: { type: 'boolean', description: 'Whether the session survives a restart of the browser.' },
            },
            ['user', 'token', 'persistent'],
          ),
          { type: 'null' },
        ],
      },
      needsSetup: {
        type: 'boolean',
        description: 'There are no users yet: the set-up link creates the first admin.',
      },
      sendsMail: { type: 'boolean', description: 'Whether auth:lostPassword can send a link by e-mail.' },
      productTitle: { ...schema.stringOrNull, description: 'The title of the web interface; null: Tablinum.' },
      accentColor: {
        ...schema.stringOrNull,
        description: 'The accent colour of the web interface, such as "#7a3cc2"; null: the accent colour of Tablinum.',
      },
    },
    ['session', 'needsSetup', 'sendsMail', 'productTitle', 'accentColor'],
  ),
  KeptSession: schema.object(
    { persistent: { type: 'boolean', description: 'Whether the session survives a restart of the browser.' } },
    ['persistent'],
  ),
  NewAccount: {
    ...schema.object(
      { email, password: newPassword, username: { type: ['string', 'null'], minLength: 1, maxLength: 100 }, nickname },
      ['email', 'password'],
    ),
    examples: [{ email: 'ann@example.com', password: 'correct horse battery', nickname: 'Ann' }],
  },
  LostPassword: { ...schema.complete({ email: nonEmptyText }), examples: [{ email: 'ann@example.com' }] },
  PasswordReset: {
    ...schema.complete({ token: secret, password: newPassword }),
    examples: [{ token: 'tbr_…', password: 'correct horse battery' }],
  },
  FirstAdmin: {
    ...schema.object({ token: secret, email, password: newPassword, nickname }, ['token', 'email', 'password']),
    examples: [{ token: 'tbi_…', email: 'ann@example.com', password: 'correct horse battery' }],
  },
};

const sessionProperties = {
  id: schema.integer,
  createdAt: schema.dateTime,
  expiresAt: { ...schema.dateTime, description: 'Extended whenever the session is used.' },
  lastUsedAt: { ...schema.dateTimeOrNull, description: 'At most a minute old; null if it was never used.' },
  current: { ...schema.boolean, description: 'Whether it is the session of this request.' },
};
const checkProperties = {
  id: { type: ['integer', 'null'] },
  email: schema.stringOrNull,
  nickname: schema.stringOrNull,
  roles: schema.array(schema.string),
  currentRole: schema.string,
  roleTitles: {
    type: 'object',
    additionalProperties: schema.stringOrNull,
    description: 'The titles of `roles` and `currentRole` by role name; null for a role without a title.',
  },
  application: schema.string,
  applicationDisplayName: schema.stringOrNull,
  credential: schema.object(
    {
      type: { type: 'string', enum: ['session', 'apiKey'] },
      id: schema.integer,
      name: schema.stringOrNull,
      expiresAt: schema.dateTimeOrNull,
    },
    ['type', 'id', 'name', 'expiresAt'],
  ),
};

/** Schemas of the account actions of signed-in users. */
export const sessionSchemas: Readonly<Record<string, JsonSchema>> = {
  Check: schema.object(checkProperties, Object.keys(checkProperties)),
  Session: schema.object(sessionProperties, Object.keys(sessionProperties)),
  PasswordChange: {
    ...schema.object({ oldPassword: secret, newPassword }, ['oldPassword', 'newPassword']),
    examples: [{ oldPassword: 'correct horse battery', newPassword: 'wrong donkey current' }],
  },
};

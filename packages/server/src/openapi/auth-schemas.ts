import { passwordLength } from '../identity/password-rules.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import {
  arraySchema,
  booleanSchema,
  dateTimeOrNullSchema,
  dateTimeSchema,
  integerSchema,
  objectSchema,
  stringOrNullSchema,
  stringSchema,
} from './schema-parts.ts';

const { min: minLength, max: maxLength } = passwordLength;
const nonEmptyText: JsonSchema = { type: 'string', minLength: 1 };
const secret: JsonSchema = { ...nonEmptyText, writeOnly: true };
const newPassword: JsonSchema = { type: 'string', minLength, maxLength, writeOnly: true };
const email: JsonSchema = { ...nonEmptyText, maxLength: 320 };
const nickname: JsonSchema = { type: ['string', 'null'], minLength: 1, maxLength: 255 };
const userProperties = {
  id: integerSchema,
  email: stringOrNullSchema,
  username: stringOrNullSchema,
  nickname: stringOrNullSchema,
  status: { type: 'string', enum: ['active', 'suspended'] },
  defaultRole: stringOrNullSchema,
  createdAt: dateTimeSchema,
  updatedAt: dateTimeSchema,
  roles: { ...arraySchema(stringSchema), description: 'The names of the roles that the user holds.' },
};

/** Schemas of actions without a credential. */
export const accountSchemas: Readonly<Record<string, JsonSchema>> = {
  Credentials: {
    ...objectSchema(
      {
        email: stringSchema,
        account: stringSchema,
        username: stringSchema,
        password: { ...stringSchema, writeOnly: true },
      },
      ['password'],
    ),
    anyOf: [{ required: ['email'] }, { required: ['account'] }, { required: ['username'] }],
    examples: [{ email: 'ann@example.com', password: 'correct horse battery' }],
  },
  SignedIn: objectSchema(
    {
      user: {
        ...objectSchema(userProperties, Object.keys(userProperties)),
        description: 'The user, with the fields that the application has added to users.',
        additionalProperties: true,
      },
      token: { type: 'string', description: 'For the header Authorization: Bearer <token>.' },
    },
    ['user', 'token'],
  ),
  Resumed: objectSchema(
    {
      session: {
        anyOf: [
          objectSchema(
            {
              user: {
                ...objectSchema(userProperties, Object.keys(userProperties)),
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
    },
    ['session', 'needsSetup', 'sendsMail'],
  ),
  KeptSession: objectSchema(
    { persistent: { type: 'boolean', description: 'Whether the session survives a restart of the browser.' } },
    ['persistent'],
  ),
  NewAccount: {
    ...objectSchema(
      { email, password: newPassword, username: { type: ['string', 'null'], minLength: 1, maxLength: 100 }, nickname },
      ['email', 'password'],
    ),
    examples: [{ email: 'ann@example.com', password: 'correct horse battery', nickname: 'Ann' }],
  },
  LostPassword: { ...objectSchema({ email: nonEmptyText }, ['email']), examples: [{ email: 'ann@example.com' }] },
  PasswordReset: {
    ...objectSchema({ token: secret, password: newPassword }, ['token', 'password']),
    examples: [{ token: 'tbr_…', password: 'correct horse battery' }],
  },
  FirstAdmin: {
    ...objectSchema({ token: secret, email, password: newPassword, nickname }, ['token', 'email', 'password']),
    examples: [{ token: 'tbi_…', email: 'ann@example.com', password: 'correct horse battery' }],
  },
};

const sessionProperties = {
  id: integerSchema,
  createdAt: dateTimeSchema,
  expiresAt: { ...dateTimeSchema, description: 'Extended whenever the session is used.' },
  lastUsedAt: { ...dateTimeOrNullSchema, description: 'At most a minute old; null if it was never used.' },
  current: { ...booleanSchema, description: 'Whether it is the session of this request.' },
};
const checkProperties = {
  id: { type: ['integer', 'null'] },
  email: stringOrNullSchema,
  nickname: stringOrNullSchema,
  roles: arraySchema(stringSchema),
  currentRole: stringSchema,
  roleTitles: {
    type: 'object',
    additionalProperties: stringOrNullSchema,
    description: 'The titles of `roles` and `currentRole` by role name; null for a role without a title.',
  },
  application: stringSchema,
  applicationDisplayName: stringOrNullSchema,
  credential: objectSchema(
    {
      type: { type: 'string', enum: ['session', 'apiKey'] },
      id: integerSchema,
      name: stringOrNullSchema,
      expiresAt: dateTimeOrNullSchema,
    },
    ['type', 'id', 'name', 'expiresAt'],
  ),
};

/** Schemas of the account actions of signed-in users. */
export const sessionSchemas: Readonly<Record<string, JsonSchema>> = {
  Check: objectSchema(checkProperties, Object.keys(checkProperties)),
  Session: objectSchema(sessionProperties, Object.keys(sessionProperties)),
  PasswordChange: {
    ...objectSchema({ oldPassword: secret, newPassword }, ['oldPassword', 'newPassword']),
    examples: [{ oldPassword: 'correct horse battery', newPassword: 'wrong donkey current' }],
  },
};

import { passwordLength } from '../identity/password-rules.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { listOf, moment, momentOrNull, object, text, textOrNull, truth, whole } from './schema-parts.ts';

const { least: minLength, most: maxLength } = passwordLength;
const given: JsonSchema = { type: 'string', minLength: 1 };
const secret: JsonSchema = { ...given, writeOnly: true };
const newPassword: JsonSchema = { type: 'string', minLength, maxLength, writeOnly: true };
const email: JsonSchema = { ...given, maxLength: 320 };
const nickname: JsonSchema = { type: ['string', 'null'], minLength: 1, maxLength: 255 };
const user = {
  id: whole,
  email: textOrNull,
  username: textOrNull,
  nickname: textOrNull,
  status: { type: 'string', enum: ['active', 'suspended'] },
  defaultRole: textOrNull,
  createdAt: moment,
  updatedAt: moment,
  roles: { ...listOf(text), description: 'The names of the roles that it holds.' },
};

/** Schemas of what is done without a credential. */
export const accountSchemas: Readonly<Record<string, JsonSchema>> = {
  Credentials: {
    ...object({ email: text, account: text, username: text, password: { ...text, writeOnly: true } }, ['password']),
    anyOf: [{ required: ['email'] }, { required: ['account'] }, { required: ['username'] }],
    examples: [{ email: 'ann@example.com', password: 'correct horse battery' }],
  },
  SignedIn: object(
    {
      user: {
        ...object(user, Object.keys(user)),
        description: 'The user, with the fields that the application has added to users.',
        additionalProperties: true,
      },
      token: { type: 'string', description: 'For the header Authorization: Bearer <token>.' },
    },
    ['user', 'token'],
  ),
  Resumed: object(
    {
      session: {
        anyOf: [
          object(
            {
              user: {
                ...object(user, Object.keys(user)),
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
        description: 'No user exists yet: the set-up link creates the first administrator.',
      },
      sendsMail: { type: 'boolean', description: 'Whether auth:lostPassword can mail a link.' },
    },
    ['session', 'needsSetup', 'sendsMail'],
  ),
  KeptSession: object(
    { persistent: { type: 'boolean', description: 'Whether the session survives a restart of the browser.' } },
    ['persistent'],
  ),
  NewAccount: {
    ...object(
      { email, password: newPassword, username: { type: ['string', 'null'], minLength: 1, maxLength: 100 }, nickname },
      ['email', 'password'],
    ),
    examples: [{ email: 'ann@example.com', password: 'correct horse battery', nickname: 'Ann' }],
  },
  LostPassword: { ...object({ email: given }, ['email']), examples: [{ email: 'ann@example.com' }] },
  PasswordReset: {
    ...object({ token: secret, password: newPassword }, ['token', 'password']),
    examples: [{ token: 'tbr_…', password: 'correct horse battery' }],
  },
  FirstAdmin: {
    ...object({ token: secret, email, password: newPassword, nickname }, ['token', 'email', 'password']),
    examples: [{ token: 'tbi_…', email: 'ann@example.com', password: 'correct horse battery' }],
  },
};

const session = {
  id: whole,
  createdAt: moment,
  expiresAt: { ...moment, description: 'Unless it is used before.' },
  lastUsedAt: { ...momentOrNull, description: 'At most a minute behind; null until it was used.' },
  current: { ...truth, description: 'Whether it is the one that asks.' },
};
const check = {
  id: { type: ['integer', 'null'] },
  email: textOrNull,
  nickname: textOrNull,
  roles: listOf(text),
  currentRole: text,
  roleTitles: {
    type: 'object',
    additionalProperties: textOrNull,
    description: 'The titles of `roles` and `currentRole` by role name; null for a role without a title.',
  },
  application: text,
  applicationDisplayName: textOrNull,
  credential: object(
    { type: { type: 'string', enum: ['session', 'apiKey'] }, id: whole, name: textOrNull, expiresAt: momentOrNull },
    ['type', 'id', 'name', 'expiresAt'],
  ),
};

/** Schemas of what people do with their own accounts once they have proved who they are. */
export const sessionSchemas: Readonly<Record<string, JsonSchema>> = {
  Check: object(check, Object.keys(check)),
  Session: object(session, Object.keys(session)),
  PasswordChange: {
    ...object({ oldPassword: secret, newPassword }, ['oldPassword', 'newPassword']),
    examples: [{ oldPassword: 'correct horse battery', newPassword: 'wrong donkey current' }],
  },
};

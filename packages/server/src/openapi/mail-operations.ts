/** Mail, beside the generated actions. */
import type { JsonSchema } from '../schema/field-type.ts';
import { reply } from './operation.ts';
import type { Parameter } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, object, text, textOrNull, whole } from './schema-parts.ts';
import { granted, type WrittenOperation } from './written-operation.ts';

const accountParameter: Parameter = {
  name: 'account',
  in: 'query',
  required: true,
  description: 'The account, by its id or its address. You must be its owner or a member.',
  schema: text,
  example: 'shop@example.com',
};
const mailboxParameter: Parameter = {
  name: 'mailbox',
  in: 'query',
  description: 'Path or role of the mailbox; made where there is none.',
  schema: { type: 'string', maxLength: 1000, default: 'INBOX' },
};
const binary: JsonSchema = { type: 'string', format: 'binary' };

export const mailOperations: readonly WrittenOperation[] = [
  {
    action: 'emails:import',
    summary: 'Store messages',
    description:
      'One raw message, or an mbox with many. It may be repeated: what the account has already is counted as a duplicate.',
    may: granted(['emails', 'create']),
    parameters: [accountParameter, mailboxParameter],
    body: {
      required: true,
      content: { 'message/rfc822': { schema: binary }, 'application/mbox': { schema: binary } },
    },
    success: reply('What became of them.', schemaRef('MailImport')),
  },
];

const counts = { stored: whole, duplicates: whole, unparsable: whole, failed: whole };
const problem = object({ message: whole, outcome: text, reason: textOrNull }, ['message', 'outcome', 'reason']);

/** Schemas for those who work with mail. */
export const mailSchemas: Readonly<Record<string, JsonSchema>> = {
  MailImport: object({ ...counts, problems: listOf(problem) }, [...Object.keys(counts), 'problems']),
};

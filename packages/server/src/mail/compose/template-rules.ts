/** What clients may write of templates of messages. */
import { readTemplateAuthors } from '../../database/mail/template-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, GuardedWrite, PreparedBody } from '../../records/record-rules.ts';
import { parseMessageTemplate } from './parse-template.ts';

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set(['authorId', 'author', 'createdAt', 'updatedAt']);

/** Checks and completes the body of a write. Its author is the user who creates a template. `key` is null on create. */
export async function prepareTemplate(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody> {
  if (!isObject(body)) return { body: body as Body };
  const row = Object.fromEntries(Object.entries(body).filter(([name]) => !serverManaged.has(name)));
  const isNew = key === null;
  if (!isNew && ('accountId' in row || 'account' in row))
    throw new ApiError('SYSTEM_PROTECTED', 'The account of a template cannot be changed; leave "accountId" out.');
  const prepared = parseMessageTemplate(row, isNew);
  if (!isNew) return { body: prepared };
  const id = context.caller.user?.['id'];
  const authorId = typeof id === 'number' ? id : null;
  if (authorId === null && row['shared'] === false)
    throw new ApiError(
      'NO_PERMISSION',
      'A private template has an author, and this credential belongs to no user. Leave "shared" out.',
    );
  return { body: prepared, serverValues: { authorId } };
}

/** @throws ApiError `NO_PERMISSION` if a user other than the author would make a template private. */
export async function guardTemplates({ transaction, action, keys, body, context }: GuardedWrite): Promise<void> {
  if (action !== 'update' || body?.['shared'] !== false) return;
  const user = context.caller.user?.['id'];
  const authors = await readTemplateAuthors(context.database, transaction, keys);
  if (authors.some((author) => author === null || author !== user))
    throw new ApiError('NO_PERMISSION', 'Only its author can make a template private. Create a copy instead.');
}

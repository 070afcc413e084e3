import type { Transaction } from '../../database/database.ts';
import { countSavedSearches } from '../../database/mail/saved-search-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody } from '../../records/record-rules.ts';

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set(['userId', 'user']);

/** Members of a view with their types: those of the URL of the inbox. */
const members: Readonly<Record<string, (value: unknown) => boolean>> = {
  q: isShortText,
  folder: isShortText,
  label: isShortText,
  state: (value) => value === 'closed' || value === 'snoozed' || value === 'any',
  account: Number.isSafeInteger,
  assignee: (value) => value === 'none' || Number.isSafeInteger(value),
  unread: (value) => value === true,
  starred: (value) => value === true,
  here: (value) => value === true,
};

/**
 * A saved search belongs to the user who creates it.
 *
 * @throws ApiError 422 for an invalid name or view, or if the user has too many; 403 for a credential without a user.
 */
export async function prepareSavedSearch(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody> {
  if (!isObject(body)) return { body: body as Body };
  const row: Record<string, unknown> = Object.fromEntries(
    Object.entries(body).filter(([name]) => !serverManaged.has(name)),
  );
  if (typeof row['name'] === 'string') row['name'] = row['name'].trim();
  if (row['name'] === '') throw invalidValues({ name: 'Give a name of 1 to 120 characters.' });
  if ('view' in row) checkView(row['view']);
  if (key !== null) return { body: row };
  const userId = context.caller.user?.['id'];
  if (typeof userId !== 'number')
    throw new ApiError('NO_PERMISSION', 'A saved search belongs to a user, and this credential belongs to none.');
  return {
    body: row,
    serverValues: { userId },
    afterWrite: (transaction) => requireRoom(context, transaction, userId),
  };
}

function checkView(view: unknown): void {
  if (!isObject(view) || Object.keys(view).length === 0)
    throw invalidValues({ view: `Give an object with at least one of ${Object.keys(members).join(', ')}.` });
  const details: Record<string, string> = {};
  for (const [name, value] of Object.entries(view)) {
    const isValid = Object.hasOwn(members, name) ? members[name] : undefined;
    if (!isValid)
      details[`view.${name.slice(0, 60)}`] = `A view has no such member. Use ${Object.keys(members).join(', ')}.`;
    else if (!isValid(value))
      details[`view.${name}`] = 'The value is not valid for this member. Use the value from the URL of the inbox.';
  }
  if (Object.keys(details).length > 0) throw invalidValues(details);
}

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= mailLimits.searchLength;
}

async function requireRoom({ database }: RecordContext, transaction: Transaction, userId: number): Promise<void> {
  if ((await countSavedSearches(database, transaction, userId)) > mailLimits.savedSearches)
    throw invalidValues({
      name: `A user has at most ${mailLimits.savedSearches} saved searches. Destroy others first.`,
    });
}

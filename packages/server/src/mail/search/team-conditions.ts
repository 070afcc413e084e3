/** The parameters of mail lists about what a team does with conversations. */
import { ApiError, booleanExpected } from '../../protocol/api-error.ts';
import { conversationStates } from '../collections/email-collections.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * Converts `state`, `assigneeId` and `muted` to filters on conversations.
 *
 * @returns the filters, and the other parameters.
 * @throws ApiError `PARAMETER_INVALID`
 */
export function parseTeamConditions({ state, assigneeId, muted, ...rest }: Values): {
  readonly conditions: readonly Values[];
  readonly rest: Record<string, unknown>;
} {
  return {
    conditions: [
      ...(state === undefined ? [] : [{ state: { $in: parseStates(state) } }]),
      ...(assigneeId === undefined ? [] : [{ assigneeId: parseAssignee(assigneeId) }]),
      ...(muted === undefined ? [] : [{ muted: parseMuted(muted) }]),
    ],
    rest,
  };
}

const known: ReadonlySet<unknown> = new Set(conversationStates);

function parseStates(input: unknown): readonly unknown[] {
  const states = typeof input === 'string' ? input.split(',') : Array.isArray(input) ? input : [input];
  if (states.length > 0 && states.every((each) => known.has(each))) return [...new Set(states)];
  throw new ApiError(
    'PARAMETER_INVALID',
    `"state" must be one or more of ${conversationStates.join(', ')}, separated by commas.`,
  );
}

/** The id of a user; null for conversations without an assignee. */
function parseAssignee(input: unknown): number | null {
  if (input === 'none' || input === null) return null;
  const key = typeof input === 'string' && /^\d{1,15}$/.test(input) ? Number(input) : input;
  if (typeof key === 'number' && Number.isSafeInteger(key)) return key;
  throw new ApiError('PARAMETER_INVALID', '"assigneeId" must be the id of a user, or none.');
}

function parseMuted(input: unknown): boolean {
  if (input === true || input === 'true' || input === '1') return true;
  if (input === false || input === 'false' || input === '0') return false;
  throw booleanExpected('muted');
}

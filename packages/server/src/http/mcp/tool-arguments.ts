/** Converts the arguments of a tool to the parameters and body of its action. Values are checked by the action itself. */
import { ApiError } from '../../protocol/api-error.ts';
import { JsonNumber } from '../../protocol/exact-json.ts';
import { isObject } from '../../protocol/json-text.ts';
import { formatNames } from '../../protocol/known-names.ts';
import { limits } from '../../protocol/limits.ts';
import { isWriteTool, type ToolTarget } from './tools.ts';

/** The request of an action. */
export interface ToolRequest {
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The values of a create or update. */
  readonly body: unknown;
  /** Whether a write is a dry run. */
  readonly dryRun: boolean;
}

type Arguments = Readonly<Record<string, unknown>>;

const argumentsByAction: Readonly<Record<ToolTarget['action'], readonly string[]>> = {
  list: ['filter', 'search', 'fields', 'appends', 'sort', 'limit', 'cursor'],
  get: ['key', 'fields', 'appends'],
  query: ['measures', 'dimensions', 'filter', 'having', 'orders', 'limit', 'offset'],
  create: ['values', 'dryRun'],
  update: ['key', 'values', 'dryRun'],
  destroy: ['key', 'dryRun'],
};
const mailSearchArguments = ['query', 'folder', 'accountId', 'unread', 'fields', 'limit', 'cursor'];

/** @throws ApiError 400 naming the argument. */
export function readToolArguments(tool: ToolTarget, input: unknown): ToolRequest {
  const given = input ?? {};
  if (!isObject(given)) throw invalidArgument('The arguments of a tool must be an object.');
  refuseUnknownArguments(tool, given);
  if (tool.isMailSearch) return toRead(readMailSearch(given));
  if (isWriteTool(tool.action)) return readWrite(tool, given);
  if (tool.action === 'list') return toRead(readList(given));
  if (tool.action === 'query') return toRead({ ...given, limit: readLimit(given, limits.mcpRows) });
  const { key: _, ...selection } = given;
  return toRead({ ...selection, filterByTk: readKey(given) });
}

function toRead(parameters: Arguments): ToolRequest {
  return { parameters: omitAbsent(parameters), body: undefined, dryRun: false };
}

function readList({ limit: _, cursor, ...parameters }: Arguments): Arguments {
  return { ...parameters, after: cursor, pageSize: readLimit({ limit: _ }, limits.pageSizeDefault) };
}

function readMailSearch({ query, limit, cursor, ...parameters }: Arguments): Arguments {
  if (typeof query !== 'string' || query.trim() === '')
    throw invalidArgument('"query" must be text that is not empty. Use list_emails to list e-mails without a search.');
  return { ...parameters, search: query, after: cursor, pageSize: readLimit({ limit }, limits.pageSizeDefault) };
}

function readWrite({ action }: ToolTarget, given: Arguments): ToolRequest {
  const { values, dryRun = true } = given;
  if (typeof dryRun !== 'boolean') throw invalidArgument('"dryRun" must be true or false.');
  if (action !== 'destroy' && !isObject(values))
    throw invalidArgument('"values" must be an object of fields. One call writes one record.');
  const key = action === 'create' ? {} : { filterByTk: readKey(given) };
  return { parameters: { ...key, ...(dryRun && { dryRun: 'true' }) }, body: values, dryRun };
}

/** One key: a list of keys would change several records. */
function readKey({ key }: Arguments): unknown {
  if (key instanceof JsonNumber) return key.toString();
  if ((typeof key === 'string' && key !== '' && !key.startsWith('[')) || typeof key === 'number') return key;
  throw invalidArgument('"key" must be the primary key of one record.');
}

function readLimit({ limit }: Arguments, fallback: number): number {
  if (limit === undefined || limit === null) return fallback;
  if (typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= limits.mcpRows) return limit;
  throw new ApiError(
    'LIMIT_EXCEEDED',
    `"limit" must be a whole number from 1 to ${limits.mcpRows}. Continue with "cursor" or "offset".`,
  );
}

function refuseUnknownArguments({ name, action, isMailSearch }: ToolTarget, given: Arguments): void {
  const known = isMailSearch ? mailSearchArguments : argumentsByAction[action];
  const unknown = Object.keys(given).find((each) => !known.includes(each));
  if (unknown === undefined) return;
  throw new ApiError(
    'PARAMETER_UNKNOWN',
    `The tool "${name}" has no argument "${unknown.slice(0, 60)}". Its arguments are: ${formatNames(known)}.`,
  );
}

function omitAbsent(parameters: Arguments): Arguments {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null));
}

function invalidArgument(message: string): ApiError {
  return new ApiError('PARAMETER_INVALID', message);
}

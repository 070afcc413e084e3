/**
 * Runs a call of a tool: the same action, with the same permissions and checks, as a request to the API. Every call is recorded in the
 * audit journal. A refusal is the result of the call, so that the assistant reads its message.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { isoTime } from '../../base/clock.ts';
import { formatToolAction, toAuditActor } from '../../changes/admin-actions.ts';
import type { ToolCall } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import { isNormalisedAction, normaliseRequest } from '../../protocol/request-normaliser.ts';
import { findSystemAction, isKnownRoute, runAction } from '../action-table.ts';
import { toErrorReply } from '../error-reply.ts';
import { isRefusalOfCaller, journalFailure, toIpAddress } from '../journaling.ts';
import { toNetwork } from '../network.ts';
import type { ActionResult, RequestContext } from '../request-context.ts';
import type { Route } from '../route.ts';
import { countFitting, isWithinBudget, shortenTexts } from './reply-budget.ts';
import { readToolArguments, type ToolRequest } from './tool-arguments.ts';
import { isWriteTool, type ToolTarget } from './tools.ts';

/** The data of an action, as in its reply. */
type ToolData = Extract<ActionResult, { data: string }>;

interface ToolReply {
  readonly text: string;
  readonly dryRun: boolean;
}

/** Runs a call. Never rejects for a refusal. */
export async function callTool(request: RequestContext, tool: ToolTarget, input: unknown): Promise<CallToolResult> {
  const call: ToolCall = { name: tool.name, isJournaled: false };
  try {
    const { text, dryRun } = await runTool(request, tool, call, input);
    if (!call.isJournaled) recordCall(request, dryRun ? `${tool.name}:dryRun` : tool.name, null);
    return { content: [{ type: 'text', text }] };
  } catch (error) {
    recordFailure(request, tool, error);
    const { body } = toErrorReply(error, request.requestId, request.application.logger);
    return { content: [{ type: 'text', text: body }], isError: true };
  }
}

async function runTool(request: RequestContext, tool: ToolTarget, call: ToolCall, input: unknown): Promise<ToolReply> {
  const isWrite = isWriteTool(tool.action);
  if (isWrite && request.settings.runtime.current.mcp !== 'write')
    throw new ApiError(
      'NO_PERMISSION',
      'This server does not allow AI assistants to write. Nothing was changed. An administrator can allow it with MCP=write.',
    );
  const toolRequest = readToolArguments(tool, input);
  const run = (changed: ToolRequest): Promise<ToolData> => runRequest(request, tool, call, changed);
  if (!isWrite) {
    const readFewer = (rows: number): Promise<ToolData> => run(resize(tool, toolRequest, rows));
    return { text: await formatRead(tool, await run(toolRequest), readFewer), dryRun: false };
  }
  const { dryRun } = toolRequest;
  const before = dryRun ? await readBefore(request, tool, call, toolRequest) : null;
  return { text: formatWrite(await run(toolRequest), dryRun, before), dryRun };
}

/** Runs the action, again if definitions or permissions have changed meanwhile. */
function runRequest(
  request: RequestContext,
  { resource, action }: Pick<ToolTarget, 'resource' | 'action'>,
  call: ToolCall,
  { parameters, body }: ToolRequest,
): Promise<ToolData> {
  const { application, caller, address } = request;
  const route: Route = { resource, action, key: null, of: null };
  const systemAction = findSystemAction(request.actions, route);
  const reads = !isWriteTool(action);
  const origin = { address: toIpAddress(address), action: `${resource}:${action}`, tool: call };
  return application.withCurrentSnapshot(async () => {
    await application.ensureCurrent();
    const result = await runAction(systemAction, {
      ...request,
      caller: { ...caller, origin },
      route,
      parameters: () => parameters,
      recordRequest: () => {
        if (!isNormalisedAction(action)) throw new Error(`${action} has no record request`);
        return normaliseRequest(action, parameters, false);
      },
      body: reads ? parameters : body,
      text: undefined,
      ifMatch: undefined,
      idempotencyKey: null,
    });
    if ('data' in result) return result;
    throw new Error(`${resource}:${action} gave no data to a tool`);
  });
}

/** The record before a dry run, as far as the caller may get it. */
async function readBefore(
  request: RequestContext,
  { resource, action }: ToolTarget,
  call: ToolCall,
  { parameters }: ToolRequest,
): Promise<string | null> {
  if (action === 'create') return null;
  const read = { parameters: { filterByTk: parameters['filterByTk'] }, body: undefined, dryRun: false };
  try {
    const { data } = await runRequest(request, { resource, action: 'get' }, call, read);
    return isWithinBudget(data) ? data : null;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

function resize({ action }: ToolTarget, request: ToolRequest, rows: number): ToolRequest {
  return { ...request, parameters: { ...request.parameters, [action === 'query' ? 'limit' : 'pageSize']: rows } };
}

/** @param readFewer reads the beginning of the same page. */
async function formatRead(
  tool: ToolTarget,
  result: ToolData,
  readFewer: (rows: number) => Promise<ToolData>,
): Promise<string> {
  if (isWithinBudget(result.data)) return formatReply(result.data, result.meta);
  if (tool.action === 'get') return formatShortened(result);
  const rows = countFitting(result.data);
  const shorter = await readFewer(Math.max(rows, 1));
  // Concurrent changes may have made the records longer.
  if (!isWithinBudget(shorter.data)) return formatShortened(await readFewer(1));
  const next = tool.action === 'query' ? `"offset" increased by ${rows}` : '"cursor": meta.nextCursor';
  return formatReply(shorter.data, {
    ...shorter.meta,
    truncated: true,
    notice: `Only the first ${rows} rows fit into a reply of ${limits.mcpReplyBytes / 1024} KiB. Continue with ${next}, or request fewer "fields".`,
  });
}

function formatShortened({ data, meta }: ToolData): string {
  const shortened = shortenTexts(data);
  if (shortened === null)
    throw new ApiError(
      'LIMIT_EXCEEDED',
      `One record is longer than ${limits.mcpReplyBytes / 1024} KiB, the limit of a reply. Request fewer "fields".`,
    );
  return formatReply(shortened.data, {
    ...meta,
    truncated: true,
    notice: `Long texts were shortened: ${shortened.paths.join(', ')}.`,
  });
}

function formatWrite({ data }: ToolData, dryRun: boolean, before: string | null): string {
  const meta = dryRun
    ? { dryRun: true, notice: 'Nothing was written. To write, call the tool again with "dryRun": false.' }
    : { dryRun: false };
  const kept = isWithinBudget(`${data}${before ?? ''}`) ? data : (shortenTexts(data)?.data ?? 'null');
  const beforeMember = before !== null && isWithinBudget(`${kept}${before}`) ? `,"before":${before}` : '';
  return `{"data":${kept}${beforeMember},"meta":${JSON.stringify(meta)}}`;
}

function formatReply(data: string, meta: object | undefined): string {
  return meta === undefined ? `{"data":${data}}` : `{"data":${data},"meta":${JSON.stringify(meta)}}`;
}

/** Counts a call of a tool that does not exist. */
export function recordUnknownTool(request: RequestContext): void {
  recordCall(request, null, 'ROUTE_UNKNOWN');
}

/** Calls that changed nothing are counted. A change has an entry of its own, in its transaction. */
function recordCall(
  { application, caller, requestId, address }: RequestContext,
  tool: string | null,
  code: string | null,
): void {
  const { credential, ...actor } = toAuditActor(caller, requestId);
  application.journal.recordRefusal({
    ...actor,
    credential: credential && JSON.stringify(credential),
    at: isoTime(application.clock.now()),
    action: tool === null ? null : formatToolAction(tool),
    target: null,
    code,
    network: toNetwork(address),
  });
}

/** Names of tools that the application does not have are never stored. */
function recordFailure(request: RequestContext, { name, resource, action }: ToolTarget, error: unknown): void {
  const route: Route = { resource, action, key: null, of: null };
  const isKnown = findSystemAction(request.actions, route) !== undefined || isKnownRoute(request.application, route);
  const journaled = { ...request, route: { ...route, resource: 'mcp', action: name }, known: () => isKnown };
  journalFailure(request.application, journaled, error);
  if (isRefusalOfCaller(error)) return;
  recordCall(request, isKnown ? name : null, error instanceof ApiError ? error.code : 'INTERNAL');
}

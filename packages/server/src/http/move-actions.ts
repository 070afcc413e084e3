/** `applications:receive`: the steps by which `tablinum move` writes an application to this server, only for administrators of `main`. */
import { adminRole } from '../access/access-table.ts';
import type { MoveKey, ReceivedCopy, ReceivedMoves } from '../applications/moves/received-moves.ts';
import { storeVersion } from '../database/catalogue.ts';
import { DatabaseFault } from '../database/database.ts';
import { findPlainKey, listFixedTables, type MovedRow, type MovedTable } from '../database/move/moved-table.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import { applyChanges } from '../transfer/move/apply-changes.ts';
import { isBlobName, receiveInto, requireSameName } from '../transfer/move/copy-blobs.ts';
import { describeTable } from '../transfer/move/copy-target.ts';
import { recreateTables } from '../transfer/move/local-target.ts';
import {
  decodeBlobs,
  type MoveMessageStep,
  type MoveMessages,
  type MoveStep,
  maxMoveBody,
  moveSteps,
  type RangeBounds,
} from '../transfer/move/move-protocol.ts';
import { digestRows, syncTable } from '../transfer/move/sync-table.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

/** A step with its parameters. */
interface ReceivedStep {
  readonly key: MoveKey;
  readonly step: MoveStep;
  /** The scope of the blobs. */
  readonly scope: number;
  /** The SHA-256 of the blob. */
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

type Messages = { readonly [Step in MoveMessageStep]: MoveMessages[Step]['reply'] };
type Receivers = {
  readonly [Step in MoveMessageStep]: (
    moves: ReceivedMoves,
    key: MoveKey,
    message: MoveMessages[Step]['sent'],
  ) => Promise<Messages[Step]>;
};

/** Runs one step. The sender writes all data of the application, so only the role `admin` may do it, and no permission is enough. */
export async function receiveStep(request: RequestContext): Promise<ActionResult> {
  const { caller, route } = request;
  if (caller.role !== adminRole) throw permissionDenied('applications', route.action);
  const received = readStep(request);
  const moves = await request.applications.receivedMoves();
  const reply = await runStep(moves, received).catch((error: unknown) => {
    throw toRefusal(error);
  });
  const adminAction = received.step === 'place' ? { target: received.key.application } : null;
  return { data: JSON.stringify(reply), adminAction };
}

function readStep(request: RequestContext): ReceivedStep {
  const names = ['filterByTk', 'move', 'step', 'scope', 'name'];
  const { filterByTk, move, step, scope = '0', name = '' } = readKnownParameters(request, names, false);
  const found = moveSteps.find((each) => each === step);
  if (!found) throw new ApiError('PARAMETER_INVALID', `The parameter "step" must be one of ${moveSteps.join(', ')}.`);
  if (typeof filterByTk !== 'string' || filterByTk === '')
    throw new ApiError('PARAMETER_INVALID', 'The parameter "filterByTk" must be the name of one application.');
  if (typeof move !== 'string' || !/^[0-9a-f-]{36}$/.test(move))
    throw new ApiError('PARAMETER_INVALID', 'The parameter "move" must be the id of a move, a UUID.');
  if (typeof scope !== 'string' || !/^\d{1,15}$/.test(scope))
    throw new ApiError('PARAMETER_INVALID', 'The parameter "scope" must be an integer from 0.');
  if (found === 'blob' && !isBlobName(name))
    throw new ApiError('PARAMETER_INVALID', 'The parameter "name" must be a SHA-256, hexadecimal.');
  if (!request.upload)
    throw new ApiError('BODY_INVALID', 'Send the message of a step with the type application/octet-stream.');
  const key = { application: filterByTk, move };
  return { key, step: found, scope: Number(scope), name: String(name), bytes: request.upload.bytes };
}

async function runStep(moves: ReceivedMoves, received: ReceivedStep): Promise<object> {
  const { key, step, scope, name, bytes } = received;
  if (step === 'blob') {
    await moves.use(key, async ({ opened: { blobs } }) => {
      requireSameName(scope, name, (await blobs.receive(scope, bytes)).sha256);
    });
    return {};
  }
  const body = await readBody(bytes);
  if (step === 'blobs') {
    await moves.use(key, (copy) => storeBlobs(copy, scope, body));
    return {};
  }
  const message: unknown = JSON.parse(body.toString());
  if (!isObject(message)) throw new ApiError('BODY_INVALID', 'The message of a step must be a JSON object.');
  return receivers[step](moves, key, message as never);
}

/** @throws ApiError 413 if the body is longer than the limit. */
async function readBody(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > maxMoveBody)
      throw new ApiError('BODY_TOO_LARGE', `The message of a step may have at most ${maxMoveBody} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length);
}

/** @throws Error if the bytes of a blob do not match its name. */
async function storeBlobs({ opened }: ReceivedCopy, scope: number, body: Buffer): Promise<void> {
  const { createHash } = await import('node:crypto');
  const blobs = decodeBlobs(body).map(({ name, bytes }) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    requireSameName(scope, name, sha256);
    return { sha256, bytes };
  });
  await opened.blobs.put(scope, blobs);
}

const receivers: Receivers = {
  check: async (_moves, _key, { store }) => {
    if (store === storeVersion) return {};
    throw new ApiError(
      'MOVE_REFUSED',
      `The store of the application has version ${String(store)}, and this server needs ${storeVersion}. Install the same version on both servers.`,
    );
  },
  prepare: (moves, key) =>
    moves.use(key, async ({ target }) => {
      await target.createFixedTables();
      await target.beginCopy();
      return {};
    }),
  create: (moves, key, { tables, dropped, missing }) =>
    moves.use(key, async (copy) => {
      const plan = await copy.planAgain();
      const names = new Set(plan.created.map(({ table }) => table));
      const isSame =
        Object.keys(tables).length === names.size &&
        Object.entries(tables).every(([table, digest]) => describeTable(plan, table) === digest);
      if (!isSame) return { created: null };
      const fixed = new Set(listFixedTables().map(({ table }) => table));
      const requested = { missing, dropped: dropped.filter((table) => !fixed.has(table)) };
      return { created: await recreateTables(copy.target, plan, requested) };
    }),
  compare: (moves, key, { table, ranges }) =>
    moves.use(key, async (copy) => {
      const moved = await findTable(copy, table);
      const digests = [];
      for (const range of ranges) digests.push(await digestRows(copy.target.rows(moved, checkRange(moved, range))));
      return { ranges: digests };
    }),
  rows: (moves, key, { table, rows, ...range }) =>
    moves.use(key, async (copy) => {
      const moved = await findTable(copy, table);
      for (const row of rows) requireValues(row, moved.columns.length);
      const parts = { table: moved, rows: inOneBatch(rows), target: copy.target, range: checkRange(moved, range) };
      return { changed: (await syncTable(parts)).changed };
    }),
  apply: (moves, key, { table, removed, added }) =>
    moves.use(key, async (copy) => {
      const moved = await findTable(copy, table);
      if (!findPlainKey(moved)) throw new ApiError('MOVE_REFUSED', 'Changes of this table cannot be applied by key.');
      for (const row of [...removed, ...added]) requireValues(row, moved.columns.length);
      return applyChanges(copy.target, moved, { removed, added });
    }),
  missing: (moves, key, { scope, names }) =>
    moves.use(key, async ({ opened }) => ({
      missing: await receiveInto(opened.blobs).findMissing(Number(scope), names.filter(isBlobName)),
    })),
  analyse: (moves, key) =>
    moves.use(key, async ({ target }) => {
      await target.analyse();
      return {};
    }),
  complete: async (moves, key, { versions, generated }) => {
    await moves.complete(key, { versions, generated });
    return {};
  },
  place: async (moves, key) => {
    await moves.place(key);
    return {};
  },
};

async function findTable(copy: ReceivedCopy, name: string): Promise<MovedTable> {
  const fixed = listFixedTables().find(({ table }) => table === name);
  const found = fixed ?? (await copy.plan()).tables.find(({ table }) => table === name);
  if (!found) throw new ApiError('MOVE_REFUSED', 'The definitions that were received have no such table.');
  return found;
}

function checkRange({ key }: MovedTable, { after, until }: RangeBounds): RangeBounds {
  for (const bound of [after, until]) if (bound !== null) requireValues(bound, key.length);
  return { after, until };
}

function requireValues(values: unknown, length: number): asserts values is MovedRow {
  const isRow =
    Array.isArray(values) &&
    values.length === length &&
    values.every((value) => value === null || typeof value === 'string');
  if (!isRow) throw new ApiError('BODY_INVALID', `A row or bound must be a list of ${length} texts or null.`);
}

async function* inOneBatch(rows: readonly MovedRow[]): AsyncGenerator<readonly MovedRow[]> {
  yield rows;
}

/** An administrator needs the cause, whatever it is. */
function toRefusal(error: unknown): unknown {
  if (error instanceof ApiError || (error instanceof DatabaseFault && error.kind === 'unavailable')) return error;
  if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError)
    return new ApiError('BODY_INVALID', 'The message of the step is not one of "tablinum move".');
  return error instanceof Error ? new ApiError('MOVE_REFUSED', `The step failed: ${error.message}`) : error;
}

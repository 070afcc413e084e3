/** The source and the target of `tablinum move`, and what the command requests from them. */
import { setTimeout as pause } from 'node:timers/promises';
import type { MoveDestination, MoveLocation } from './cli-move-locations.ts';
import { isEqualSource, readStoppedSource } from './cli-move-source.ts';
import type { MoveState } from './cli-move-state.ts';
import { type OperatorConnection, OperatorRefusal } from './cli-operator.ts';

export interface MoveRequest {
  readonly application: string;
  /** A folder, the URL of a database, or the address of a server. */
  readonly to: string;
  /** How long requests may be refused. */
  readonly maxPauseSeconds: number;
}

/** Where the application is now. */
export interface MoveOrigin {
  readonly location: MoveLocation;
  readonly operator: OperatorConnection;
}

/** Where it is moved to. */
export interface MoveGoal {
  readonly location: MoveDestination;
  readonly operator: OperatorConnection;
}

type Side = Pick<MoveOrigin, 'operator'> & { readonly location: Pick<MoveLocation, 'name'> };

/** One move, while the command runs. */
export interface RunningMove {
  readonly request: MoveRequest;
  readonly source: MoveOrigin;
  readonly target: MoveGoal;
  readonly state: MoveState;
  readonly save: () => Promise<void>;
}

/** What `main` lists about an application. */
export type ListedApplication = Readonly<
  Record<'displayName' | 'options' | 'status' | 'description' | 'createdAt' | 'updatedAt', unknown>
>;

/** @param milliseconds how long the reply may take; default: a minute. @returns null if the side has no such application. */
export async function findListed(
  { operator }: Side,
  name: string,
  milliseconds?: number,
): Promise<ListedApplication | null> {
  const request = { filter: { name }, pageSize: 1 };
  const [found] = (await operator.call('applications:list', request, {}, milliseconds)) as ListedApplication[];
  return found ?? null;
}

/** A side has replied that the application cannot be opened. */
export class NotStarted extends Error {}

/** @param deadline by performance.now(). @throws NotStarted; Error if the side does not reply. */
export async function waitUntilStarted(side: Side, application: string, deadline: number): Promise<void> {
  for (;;) {
    const status = (await findListed(side, application, timeUntil(deadline)))?.status;
    if (status === 'running' || status === 'stopped') return;
    const message = `The application "${application}" has the status "${String(status)}" in ${side.location.name}. See the error log of the server there.`;
    if (status !== 'starting') throw new NotStarted(message);
    // It may still be opened, and written to.
    if (performance.now() > deadline) throw new Error(message);
    await pause(50);
  }
}

/** Whether the source is stopped, and has nothing that the complete copy lacks. */
export async function isSourceUnchanged({ request, source, state }: RunningMove, store: string): Promise<boolean> {
  const record = await findListed(source, request.application);
  if (record?.status !== 'stopped' || !state.copied) return false;
  const { reader, close } = await source.location.openSource(store);
  try {
    return isEqualSource(await readStoppedSource(reader, record.updatedAt), state.copied);
  } finally {
    await close();
  }
}

/** Both sides may have been written: an operator must decide. */
export class BothServed extends Error {
  constructor({ request: { application }, source, target }: RunningMove) {
    super(
      `"${application}" was started in ${source.location.name} after its copy had been put in ${target.location.name}, which lacks what was written since. To move it again, destroy the application in ${target.location.name} and repeat the command. To keep the copy instead, stop the application in ${source.location.name} and remove the file "moves/${application}.json" in its DATA_DIR.`,
    );
  }
}

const retryMilliseconds = { first: 200, longest: 2000 };

/**
 * Repeats an idempotent request until it succeeds, is refused, or the time is over.
 *
 * @param deadline by performance.now().
 * @param work gets the time that is left, in milliseconds.
 */
export async function repeatUntil<T>(deadline: number, work: (milliseconds: number) => Promise<T>): Promise<T> {
  for (let wait = retryMilliseconds.first; ; wait = Math.min(2 * wait, retryMilliseconds.longest))
    try {
      return await work(timeUntil(deadline));
    } catch (error) {
      if (isFinal(error) || performance.now() + wait > deadline) throw error;
      await pause(wait);
    }
}

function timeUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** Whether a repetition would have the same result. */
function isFinal(error: unknown): boolean {
  if (error instanceof NotStarted) return true;
  return error instanceof OperatorRefusal && error.status !== null && error.status < 500 && error.status !== 429;
}

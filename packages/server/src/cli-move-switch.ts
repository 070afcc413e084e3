/**
 * The last steps of `tablinum move`: the copy is put in place, and the application is started in the target. If that fails, it is started
 * in the source again, unless the target may serve it.
 */
import {
  BothServed,
  findListed,
  isSourceUnchanged,
  type ListedApplication,
  NotStarted,
  type RunningMove,
  repeatUntil,
  waitUntilStarted,
} from './cli-move-sides.ts';
import { describeMovedApplication } from './transfer/move/move-protocol.ts';

/** How long the copy may take to be put in place, at least. */
const minPlaceMilliseconds = 10_000;
/** How long the target may take to start the application. */
const startMilliseconds = 60_000;

/** The stores on both sides. */
export interface MovedStores {
  readonly from: string;
  readonly into: string;
}

/**
 * Puts the copy in place and starts it. Each step is repeated for a limited time if it is not known whether it was done.
 *
 * @param record the application in the source.
 * @throws Error if the source was started meanwhile; if the copy could not be started, and the source was started again; or if it is not
 * known whether the target has started it, so that neither side may be started without the operator.
 */
export async function switchOver(move: RunningMove, stores: MovedStores, record: ListedApplication): Promise<void> {
  const { state } = move;
  if (!state.isSwitching)
    await requireUnchanged(move, stores.from).catch((error: unknown) =>
      resumeSource(move, (error as Error).message, error),
    );
  if (!state.mayBeServed)
    await putInPlace(move, stores, record)
      .then(() => noteStart(move))
      .catch((error: unknown) => returnToSource(move, error));
  await startInTarget(move).catch((error: unknown) => settleFailedStart(move, error));
  if (!(await isSourceUnchanged(move, stores.from))) throw new BothServed(move);
}

/** @throws Error if the source has been written since it was copied: an operator started it, or another server had not yet noticed its stop. */
async function requireUnchanged(move: RunningMove, store: string): Promise<void> {
  if (await isSourceUnchanged(move, store)) return;
  throw new Error(
    `"${move.request.application}" was started in ${move.source.location.name}, or written there, after it was copied.`,
  );
}

async function putInPlace(move: RunningMove, stores: MovedStores, record: ListedApplication): Promise<void> {
  const { request, target, state, save } = move;
  const deadline = performance.now() + Math.max(minPlaceMilliseconds, request.maxPauseSeconds * 1000);
  // An earlier call may have been interrupted after the application got its name back.
  const found = await repeatUntil(deadline, (rest) => findListed(target, request.application, rest));
  const isNamed = state.isSwitching && found?.displayName !== describeMovedApplication(state.id);
  if (!isNamed) {
    state.isSwitching = true;
    await save();
    await repeatUntil(deadline, (rest) => target.location.replace(stores.into, state.id, rest));
  }
  await requireUnchanged(move, stores.from);
  if (isNamed) return;
  const { displayName, description, options } = record;
  await repeatUntil(deadline, (rest) =>
    target.operator.call(
      'applications:update',
      { displayName, description, options },
      { filterByTk: request.application },
      rest,
    ),
  );
}

/** Is stored before the target is asked to start the application. */
async function noteStart({ state, save }: RunningMove): Promise<void> {
  state.mayBeServed = true;
  await save();
}

async function startInTarget({ request, target }: RunningMove): Promise<void> {
  const deadline = performance.now() + startMilliseconds;
  await repeatUntil(deadline, async (rest) => {
    await target.operator.call('applications:start', {}, { filterByTk: request.application }, rest);
    await waitUntilStarted(target, request.application, deadline);
  });
}

/** The target does not serve the copy, so the source is started again. @throws Error always. */
async function returnToSource(move: RunningMove, error: unknown): Promise<never> {
  const { target, state, save } = move;
  // A late request may still change the copy, so the next attempt makes another one.
  Object.assign(state, { isAbandoned: true, isComplete: false, mayBeServed: false });
  // If the disk is full, the next command refuses instead, because the stored state says that the copy may be in place.
  await save().catch(() => {});
  const message = `The copy could not be put in service in ${target.location.name}: ${(error as Error).message}`;
  return resumeSource(move, message, error);
}

/** Starts the source again if it was running before the move. @throws Error always. */
async function resumeSource(move: RunningMove, message: string, cause: unknown): Promise<never> {
  const { request, source, state } = move;
  if (!state.wasRunning) throw new Error(`${message} Nothing was switched. Repeat the command.`, { cause });
  // The source is started even if its data has changed, because it may still be stopped. Starting it twice does no
  // harm.
  await startSourceAgain(move, message);
  throw new Error(
    `${message} Nothing was switched, and "${request.application}" runs in ${source.location.name} again. Repeat the command to move it.`,
    { cause },
  );
}

/** The start in the target failed, or its result is not known. @throws Error always. */
async function settleFailedStart(move: RunningMove, error: unknown): Promise<never> {
  const { request, target } = move;
  if (!(error instanceof NotStarted)) throw describeUnknown(move, error);
  // The target could not open the application, so nothing was written to it. It does not try again for some seconds.
  const deadline = performance.now() + minPlaceMilliseconds;
  await repeatUntil(deadline, (rest) =>
    target.operator.call('applications:stop', {}, { filterByTk: request.application }, rest),
  ).catch((failure: unknown) => {
    throw describeUnknown(move, failure);
  });
  return returnToSource(move, error);
}

/** Only the operator can find out which side may be written. */
function describeUnknown({ request: { application, to }, source, target }: RunningMove, error: unknown): Error {
  return new Error(
    `It is not known whether "${application}" runs in ${target.location.name}: ${(error as Error).message} It stays stopped in ${source.location.name}, so that only one side is written. When ${target.location.name} replies again, repeat the command: tablinum move --app ${application} --to ${describeTarget(to)}. To run it in ${source.location.name} instead, stop it in ${target.location.name} first ("tablinum app stop ${application}" there), then run "tablinum app start ${application}" here.`,
    { cause: error },
  );
}

/** The argument without a password. */
function describeTarget(to: string): string {
  const url = URL.parse(to);
  if (!url?.password) return to;
  url.password = '***';
  return url.href;
}

/**
 * Starts the source after a failure.
 *
 * @param message of the failure, without the last sentence.
 * @param stopping a stop that may not have ended yet.
 * @throws Error with the message and the command for the operator if that fails too.
 */
export async function startSourceAgain(
  { request: { application }, source, state, save }: RunningMove,
  message: string,
  stopping: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  const start = (): Promise<unknown> =>
    source.operator.call('applications:start', {}, { filterByTk: application }).catch(async (error: unknown) => {
      // A stop that was refused has stopped nothing.
      if ((await findListed(source, application).catch(() => null))?.status === 'running') return;
      throw new Error(
        `${message} "${application}" could not be started in ${source.location.name} again: ${(error as Error).message} Start it: tablinum app start ${application}`,
        { cause: error },
      );
    });
  await start();
  await stopping.catch(() => {});
  if ((await findListed(source, application))?.status === 'stopped') await start();
  state.wasRunning = false;
  await save().catch(() => {});
}

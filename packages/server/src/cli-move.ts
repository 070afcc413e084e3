/** `tablinum move --app <name> --to <location>`: moves an application to another engine or server. Both servers may be running. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Config } from './base/config.ts';
import { describeUsage, UsageError } from './cli-commands.ts';
import { ApplicationCopy } from './cli-move-copy.ts';
import { type MoveLocation, type OpenSource, openLocation, toDestination } from './cli-move-locations.ts';
import { isServerAddress, openServer } from './cli-move-remote.ts';
import {
  BothServed,
  findListed,
  isSourceUnchanged,
  type MoveGoal,
  type MoveRequest,
  type RunningMove,
  waitUntilStarted,
} from './cli-move-sides.ts';
import { readStoppedSource } from './cli-move-source.ts';
import { openMoveState } from './cli-move-state.ts';
import { startSourceAgain, switchOver } from './cli-move-switch.ts';
import { withOperator } from './cli-operator.ts';
import { describeMovedApplication } from './transfer/move/move-protocol.ts';

const defaultPauseSeconds = 5;
/** The longest time of a timer, 24 days. */
const maxTimerMilliseconds = 2 ** 31 - 1;
/** How long the target may take to create the application. */
const createMilliseconds = 60_000;

/** Runs `tablinum move`. @throws UsageError; Error with a message for the operator. */
export async function runMoveCommand(args: readonly string[], config: Config): Promise<void> {
  const request = readArguments(args);
  const { application } = request;
  const locations = { source: await openLocation(config) };
  if ((await locations.source.findStore(application)) === null) throw describeMissing(application, locations.source);
  await withDestination(request.to, config, async (target) => {
    if (locations.source.name === target.location.name)
      throw new Error(
        `The application is already in ${target.location.name}. Name another folder, database or server with --to.`,
      );
    const { state, save, remove, release } = await openMoveState(config.dataDir, application, target.location.name);
    try {
      await withOperator(config, 'main', async (operator) => {
        const source = { location: locations.source, operator };
        await runMove({ request, source, target, state, save });
        await remove();
      });
    } finally {
      release();
    }
  });
}

/** Runs work with the target that `--to` names. */
async function withDestination(to: string, config: Config, work: (target: MoveGoal) => Promise<void>): Promise<void> {
  if (isServerAddress(to)) return work(openServer(to, process.env['TABLINUM_TO_TOKEN']));
  const isDatabase = /^postgres(ql)?:\/\//.test(to);
  // The data folder of the target's servers is not known, so this process starts its own server on their database,
  // which creates the application.
  const ownFolder = isDatabase ? await mkdtemp(join(tmpdir(), 'tablinum-move-')) : null;
  const targetConfig: Config = {
    ...config,
    s3: null,
    databaseUrl: isDatabase ? to : null,
    dataDir: ownFolder ?? resolve(to),
  };
  try {
    const location = toDestination(await openLocation(targetConfig));
    await withOperator(targetConfig, 'main', (operator) => work({ location, operator }));
  } finally {
    if (ownFolder !== null) await rm(ownFolder, { recursive: true, force: true });
  }
}

function readArguments(args: readonly string[]): MoveRequest {
  try {
    const options = { app: { type: 'string' }, to: { type: 'string' }, 'max-pause': { type: 'string' } } as const;
    const { values } = parseArgs({ args: [...args], options });
    const maxPauseSeconds = Number(values['max-pause'] ?? defaultPauseSeconds);
    if (values.app && values.to && maxPauseSeconds > 0) {
      if (values.app === 'main')
        throw new UsageError('The application "main" contains the list of all others and cannot be moved.');
      return { application: values.app, to: values.to, maxPauseSeconds };
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
  }
  throw new UsageError(describeUsage('move'));
}

function describeMissing(application: string, { name }: Pick<MoveLocation, 'name'>): Error {
  return new Error(`There is no application "${application}" in ${name}. See "tablinum app list".`);
}

async function runMove(move: RunningMove): Promise<void> {
  const { request, source, target, state, save } = move;
  const { application, maxPauseSeconds } = request;
  const record = await findListed(source, application);
  const store = await source.location.findStore(application);
  if (!record || store === null) throw describeMissing(application, source.location);
  await target.location.check(application, state.id);
  await discardAbandoned(move);
  await resetOutdated(move, store);
  const targetStore = await prepareTarget(move);
  const isServed = record.status === 'running';
  state.wasRunning = isServed || state.wasRunning === true;
  const startedAt = performance.now();
  let pausedAt = performance.now();
  if (!state.isComplete) {
    const from = await source.location.openSource(store);
    const into = await target.location.openCopy(targetStore, state.id).catch(async (error: unknown) => {
      await from.close();
      throw error;
    });
    const copy = new ApplicationCopy({ from, into, created: state.tables, save, maxPauseSeconds });
    try {
      if (isServed) await copy.copyWhileRunning(application);
      pausedAt = performance.now();
      console.log(await copyPaused(move, { copy, from, isServed }));
    } finally {
      await copy.close();
    }
  }
  await switchOver(move, { from: store, into: targetStore }, record);
  const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);
  const refused = isServed ? ` Requests were refused for ${seconds(pausedAt)} s.` : '';
  console.log(
    `The application "${application}" runs in ${target.location.name}, ${seconds(startedAt)} s after the copy began.${refused}`,
  );
  console.log(
    `In ${source.location.name}, it is stopped and its data is unchanged. "tablinum app destroy ${application} --confirm ${application}" deletes it there.`,
  );
}

/** Removes the copy of an attempt that was given up while it was put in place. It was never in service. */
async function discardAbandoned(move: RunningMove): Promise<void> {
  const { request, target, state, save } = move;
  if (!state.isAbandoned) return;
  const found = await findListed(target, request.application);
  if (found && found.createdAt === state.targetCreatedAt) {
    if (found.status !== 'stopped') throw new BothServed(move);
    const parameters = { filterByTk: request.application, confirm: request.application };
    await target.operator.call('applications:destroy', {}, parameters);
  }
  Object.assign(state, { id: randomUUID(), tables: {}, isComplete: false, isSwitching: false, isAbandoned: false });
  await save();
}

/**
 * Makes a complete copy again if the source was started since. @throws Error if the target may have been started too.
 */
async function resetOutdated(move: RunningMove, store: string): Promise<void> {
  const { request, state, source, target, save } = move;
  const isListed = (await findListed(target, request.application)) !== null;
  if (!isListed) Object.assign(state, { tables: {}, isComplete: false, isSwitching: false, mayBeServed: false });
  if (!state.isComplete || (await isSourceUnchanged(move, store))) return;
  if (state.isSwitching) throw new BothServed(move);
  console.log(
    `"${request.application}" was started in ${source.location.name} after it was copied. What was written there since is copied too.`,
  );
  state.isComplete = false;
  await save();
}

/** Creates the application in the target, stopped. @returns its store. @throws Error if another one has the name. */
async function prepareTarget({ request: { application }, target, state, save }: RunningMove): Promise<string> {
  const displayName = describeMovedApplication(state.id);
  const existing = await findListed(target, application);
  // The copy gets the name of the application when it is put in place.
  const isNamed = state.isSwitching && existing?.createdAt === state.targetCreatedAt;
  if (existing && existing.displayName !== displayName && !isNamed)
    throw new Error(`The application "${application}" exists in ${target.location.name}. Destroy it there first.`);
  if (!existing) {
    await save();
    await target.operator.call('applications:create', { name: application, displayName });
  }
  if (!state.isComplete) {
    await waitUntilStarted(target, application, performance.now() + createMilliseconds);
    const created = await findListed(target, application);
    state.targetCreatedAt = String(created?.createdAt);
    await target.operator.call('applications:stop', {}, { filterByTk: application });
  }
  const store = await target.location.findStore(application);
  if (store === null) throw new Error(`The application "${application}" has no store in ${target.location.name}.`);
  return store;
}

/** Stops the application and copies the remaining changes. If that fails, the application is started again. @returns what was compared. */
async function copyPaused(
  move: RunningMove,
  { copy, from, isServed }: { readonly copy: ApplicationCopy; readonly from: OpenSource; readonly isServed: boolean },
): Promise<string> {
  const { request, source, state, save } = move;
  const { application, maxPauseSeconds } = request;
  if (isServed) await save(); // stored first: after kill -9 it is still known that the application was running
  const deadline = isServed ? performance.now() + maxPauseSeconds * 1000 : Number.POSITIVE_INFINITY;
  const stopping = source.operator.call('applications:stop', {}, { filterByTk: application });
  const work = async (): Promise<string> => {
    await stopping;
    const stopped = await findListed(source, application);
    state.copied = await readStoppedSource(from.reader, stopped?.updatedAt);
    return copy.copyRest(application, deadline);
  };
  try {
    const compared = await endInTime(work(), deadline, () => {
      // Requests and statements on both sides end with an error.
      void copy.close().catch(() => {});
      return describeLate(maxPauseSeconds);
    });
    state.isComplete = true;
    await save();
    return compared;
  } catch (error) {
    state.isComplete = false;
    if (!isServed) throw describeStillStopped(move, error as Error);
    const isLate = performance.now() >= deadline;
    const message = isLate ? describeLate(maxPauseSeconds) : (error as Error).message;
    await startSourceAgain(move, message, stopping);
    throw new Error(
      `${message} "${application}" runs in ${source.location.name} again. Repeat the command, with a longer --max-pause if necessary.`,
      { cause: error },
    );
  }
}

/**
 * @param error of a failed copy. The application was stopped before the command, or by an earlier command that was
 * killed.
 */
function describeStillStopped({ request, source, state }: RunningMove, error: Error): Error {
  if (!state.wasRunning) return error;
  return new Error(
    `${error.message} "${request.application}" is still stopped in ${source.location.name}. Repeat the command, or start it there: tablinum app start ${request.application}`,
    { cause: error },
  );
}

function describeLate(maxPauseSeconds: number): string {
  return `The remaining changes could not be copied within ${maxPauseSeconds} s.`;
}

/**
 * Waits for work until a deadline, or until a signal ends the process.
 *
 * @param deadline by performance.now(); infinite: none.
 * @param end ends the work. It returns the message of the error.
 */
async function endInTime<T>(work: Promise<T>, deadline: number, end: () => string): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const interrupt = (): void => {
    end();
    reject(new Error('The command was interrupted.'));
  };
  const rest = Math.min(deadline - performance.now(), maxTimerMilliseconds);
  const timer = setTimeout(() => reject(new Error(end())), rest);
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  work.catch(() => {}); // the work fails later, after it was ended
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

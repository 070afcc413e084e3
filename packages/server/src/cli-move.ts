/** `tablinum move --app <name> --to <location>`: moves an application to another engine or server. Both servers may be running. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Config } from './base/config.ts';
import { syncToDisk } from './base/sync-to-disk.ts';
import { describeUsage, UsageError } from './cli-commands.ts';
import { ApplicationCopy } from './cli-move-copy.ts';
import {
  type MoveDestination,
  type MoveLocation,
  type OpenSource,
  openLocation,
  toDestination,
} from './cli-move-locations.ts';
import { isServerAddress, openServer } from './cli-move-remote.ts';
import { isEqualSource, readStoppedSource, type StoppedSource } from './cli-move-source.ts';
import { type OperatorConnection, withOperator } from './cli-operator.ts';
import { describeMovedApplication } from './transfer/move/move-protocol.ts';

interface MoveRequest {
  readonly application: string;
  /** A folder, the URL of a database, or the address of a server. */
  readonly to: string;
  /** How long requests may be refused. */
  readonly maxPauseSeconds: number;
}

/** Stored until the move is done, so that a repeated command continues one that was interrupted. */
interface MoveState {
  readonly id: string;
  readonly to: string;
  /** The definitions of the tables that the target has. */
  tables: Record<string, string>;
  /** Whether the copy is complete, as long as the source is as it was copied. */
  isComplete: boolean;
  /** The source as it was copied completely. */
  copied?: StoppedSource | null;
  /** Whether the copy was put in service in the target, or may have been. */
  isSwitching?: boolean;
}

interface Source {
  readonly location: MoveLocation;
  readonly operator: OperatorConnection;
}

interface Target {
  readonly location: MoveDestination;
  readonly operator: OperatorConnection;
}

type Side = Pick<Source, 'operator'> & { readonly location: Pick<MoveLocation, 'name'> };

interface Move {
  readonly request: MoveRequest;
  readonly source: Source;
  readonly target: Target;
  readonly state: MoveState;
  readonly save: () => Promise<void>;
}

type ApplicationRecord = Readonly<Record<'displayName' | 'options' | 'status' | 'description' | 'updatedAt', unknown>>;

const defaultPauseSeconds = 5;
const startMilliseconds = 60_000;

/** Runs `tablinum move`. @throws UsageError; Error with a message for the operator. */
export async function runMoveCommand(args: readonly string[], config: Config): Promise<void> {
  const request = readArguments(args);
  const { application } = request;
  const locations = { source: await openLocation(config) };
  await withDestination(request.to, config, async (target) => {
    if (locations.source.name === target.location.name)
      throw new Error(
        `The application is already in ${target.location.name}. Name another folder, database or server with --to.`,
      );
    const path = join(config.dataDir, 'moves', `${application}.json`);
    const state = readState(path, target.location.name);
    await withOperator(config, 'main', async (operator) => {
      const source = { location: locations.source, operator };
      await runMove({ request, source, target, state, save: () => saveState(path, state) });
      await rm(path, { force: true });
    });
  });
}

/** Runs work with the target that `--to` names. */
async function withDestination(to: string, config: Config, work: (target: Target) => Promise<void>): Promise<void> {
  if (isServerAddress(to)) return work(openServer(to, process.env['TABLINUM_TO_TOKEN']));
  const isDatabase = /^postgres(ql)?:\/\//.test(to);
  // The folder of the target's servers is not known: a server of its own creates the application in their database.
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

/** @throws Error if a move to another target has begun. */
function readState(path: string, to: string): MoveState {
  if (!existsSync(path)) return { id: randomUUID(), to, tables: {}, isComplete: false };
  const state = JSON.parse(readFileSync(path, 'utf8')) as MoveState;
  if (state.to === to) return state;
  throw new Error(
    `A move of this application to ${state.to} has begun. Finish it with that --to, or give it up: remove the file "${path}", and destroy the application in ${state.to}.`,
  );
}

async function saveState(path: string, state: MoveState): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(`${path}.part`, JSON.stringify(state), { mode: 0o600 });
  await syncToDisk(`${path}.part`);
  await rename(`${path}.part`, path);
  await syncToDisk(dirname(path));
}

async function runMove(move: Move): Promise<void> {
  const { request, source, target, state, save } = move;
  const { application, maxPauseSeconds } = request;
  const record = await findApplication(source, application);
  const store = await source.location.findStore(application);
  if (!record || store === null)
    throw new Error(`There is no application "${application}" in ${source.location.name}. See "tablinum app list".`);
  await target.location.check(application, state.id);
  await resetOutdated(move, store);
  const targetStore = await prepareTarget(move);
  const startedAt = performance.now();
  let pausedAt = performance.now();
  if (!state.isComplete) {
    const from = await source.location.openSource(store);
    const into = await target.location.openCopy(targetStore, state.id);
    const copy = new ApplicationCopy({ from, into, created: state.tables, save, maxPauseSeconds });
    try {
      if (record.status === 'running') await copy.copyWhileRunning(application);
      pausedAt = performance.now();
      console.log(await copyPaused(move, { copy, from, wasRunning: record.status === 'running' }));
    } finally {
      await copy.close();
    }
  }
  await switchOver(move, { from: store, into: targetStore }, record);
  const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);
  const refused = record.status === 'running' ? ` Requests were refused for ${seconds(pausedAt)} s.` : '';
  console.log(
    `The application "${application}" runs in ${target.location.name}, ${seconds(startedAt)} s after the copy began.${refused}`,
  );
  console.log(
    `In ${source.location.name}, it is stopped and its data is unchanged. "tablinum app destroy ${application} --confirm ${application}" deletes it there.`,
  );
}

async function findApplication({ operator }: Side, name: string): Promise<ApplicationRecord | null> {
  const [found] = (await operator.call('applications:list', { filter: { name }, pageSize: 1 })) as ApplicationRecord[];
  return found ?? null;
}

/** Whether the source is stopped, and has nothing that the complete copy lacks. */
async function isUnchanged({ request, source, state }: Move, store: string): Promise<boolean> {
  const record = await findApplication(source, request.application);
  if (record?.status !== 'stopped' || !state.copied) return false;
  const { reader, close } = await source.location.openSource(store);
  try {
    return isEqualSource(await readStoppedSource(reader, record.updatedAt), state.copied);
  } finally {
    await close();
  }
}

/** A complete copy is made again if the source was started since. @throws Error if the target may have been, too. */
async function resetOutdated(move: Move, store: string): Promise<void> {
  const { request, state, source, target, save } = move;
  const isListed = (await findApplication(target, request.application)) !== null;
  if (!isListed) Object.assign(state, { tables: {}, isComplete: false, isSwitching: false });
  if (!state.isComplete || (await isUnchanged(move, store))) return;
  if (state.isSwitching) throw describeBothServed(move);
  console.log(
    `"${request.application}" was started in ${source.location.name} after it was copied. What was written there since is copied too.`,
  );
  state.isComplete = false;
  await save();
}

function describeBothServed({ request: { application }, source, target }: Move): Error {
  return new Error(
    `"${application}" was started in ${source.location.name} after its copy had been put in ${target.location.name}, which lacks what was written since. To move it again, destroy the application in ${target.location.name} and repeat the command. To keep the copy instead, stop the application in ${source.location.name} and remove the file "moves/${application}.json" in its DATA_DIR.`,
  );
}

/** Creates the application in the target, stopped. @returns its store. @throws Error if another one has the name. */
async function prepareTarget({ request: { application }, target, state, save }: Move): Promise<string> {
  const displayName = describeMovedApplication(state.id);
  const existing = await findApplication(target, application);
  if (existing && existing.displayName !== displayName && !state.isComplete)
    throw new Error(`The application "${application}" exists in ${target.location.name}. Destroy it there first.`);
  if (!existing) {
    await save();
    await target.operator.call('applications:create', { name: application, displayName });
  }
  if (!state.isComplete) {
    await waitUntilStarted(target, application);
    await target.operator.call('applications:stop', {}, { filterByTk: application });
  }
  const store = await target.location.findStore(application);
  if (store === null) throw new Error(`The application "${application}" has no store in ${target.location.name}.`);
  return store;
}

/** @throws Error if it cannot be opened. */
async function waitUntilStarted(side: Side, application: string): Promise<void> {
  const deadline = performance.now() + startMilliseconds;
  for (;;) {
    const status = (await findApplication(side, application))?.status;
    if (status === 'running' || status === 'stopped') return;
    if (status !== 'starting' || performance.now() > deadline)
      throw new Error(
        `The application "${application}" has the status "${String(status)}" in ${side.location.name}. See the error log of the server there.`,
      );
    await pause(50);
  }
}

/** Stops the application and copies the remaining changes. If that fails, the application is started again. @returns what was compared. */
async function copyPaused(
  { request: { application }, source, state, save }: Move,
  {
    copy,
    from,
    wasRunning,
  }: { readonly copy: ApplicationCopy; readonly from: OpenSource; readonly wasRunning: boolean },
): Promise<string> {
  const startedAt = performance.now();
  try {
    await source.operator.call('applications:stop', {}, { filterByTk: application });
    const before = await findApplication(source, application);
    state.copied = await readStoppedSource(from.reader, before?.updatedAt);
    const compared = await copy.copyRest(application, wasRunning ? startedAt : null);
    state.isComplete = true;
    await save();
    return compared;
  } catch (error) {
    state.isComplete = false;
    if (wasRunning) await source.operator.call('applications:start', {}, { filterByTk: application });
    throw error;
  }
}

/**
 * Puts the copy in place and starts it.
 *
 * @throws Error if the source was started meanwhile, or the copy does not open; the source can then be started again.
 */
async function switchOver(
  move: Move,
  stores: { readonly from: string; readonly into: string },
  record: ApplicationRecord,
): Promise<void> {
  const { request, source, target, state, save } = move;
  const key = { filterByTk: request.application };
  if (!(await isUnchanged(move, stores.from)))
    throw new Error(
      `"${request.application}" was started in ${source.location.name} while it was moved, so nothing was switched. Repeat the command to move it.`,
    );
  // An earlier call may have been interrupted after the application got its name back.
  const isNamed =
    (await findApplication(target, request.application))?.displayName !== describeMovedApplication(state.id);
  if (!state.isSwitching || !isNamed) {
    state.isSwitching = true;
    await save();
    await target.location.replace(stores.into, state.id);
    if (!(await isUnchanged(move, stores.from))) throw describeBothServed(move);
    const { displayName, description, options } = record;
    await target.operator.call('applications:update', { displayName, description, options }, key);
  }
  await target.operator.call('applications:start', {}, key);
  await waitUntilStarted(target, request.application).catch((error: unknown) => {
    throw new Error(
      `${(error as Error).message} The data in ${source.location.name} is unchanged: "tablinum app start ${request.application}" starts the application there again.`,
    );
  });
  if (!(await isUnchanged(move, stores.from))) throw describeBothServed(move);
}

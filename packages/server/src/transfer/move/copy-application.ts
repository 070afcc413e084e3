/** Copies the tables of an application to a target that is being built, in passes that each write what differs. */
import { isDeepStrictEqual } from 'node:util';
import type { MoveReader, MoveSnapshot } from '../../database/move/move-stores.ts';
import { listFixedTables, type MovedTable } from '../../database/move/moved-table.ts';
import type { CopyTarget, CreatedParts } from './copy-target.ts';
import { planTables, type TablePlan } from './plan-tables.ts';

export interface CopyParts extends CreatedParts {
  readonly source: MoveReader;
  readonly target: CopyTarget;
  /** Is called after each table and each piece of changes. It may throw to end the work. */
  readonly onPiece: () => void;
}

export interface CopyPass {
  readonly plan: TablePlan;
  readonly rows: number;
  readonly changed: number;
  /** The tables that were not equal. */
  readonly changedTables: readonly MovedTable[];
}

/**
 * Maximum passes over a stopped source. Reaching it means that the source was written to although it is stopped, or
 * that the target does not store the rows that it receives.
 */
const maxFinalPasses = 8;
/** Maximum plans: the definitions may change while they are copied. */
const maxPlans = 8;

/** Compares all tables once, and writes the differences to the target. @throws Error if the stores cannot be copied. */
export async function copyOnce(parts: CopyParts): Promise<CopyPass> {
  const { source, target } = parts;
  const fixedTables = new Set(listFixedTables().map(({ table }) => table));
  await target.createFixedTables();
  for (let attempt = 1; ; attempt += 1) {
    const plan = await planTables(source);
    // First the definitions, from which another server creates its tables.
    const fixed = await syncTables(
      plan.tables.filter(({ table }) => fixedTables.has(table)),
      parts,
    );
    if (await target.createTables(plan, parts)) {
      const others = await syncTables(
        plan.tables.filter(({ table }) => !fixedTables.has(table)),
        parts,
      );
      return {
        plan,
        rows: fixed.rows + others.rows,
        changed: fixed.changed + others.changed,
        changedTables: [...fixed.changedTables, ...others.changedTables],
      };
    }
    if (attempt === maxPlans)
      throw new Error(
        'The definitions of the application change all the time. Repeat the command when they no longer do.',
      );
  }
}

/**
 * Copies the rest while nothing writes to the source, and completes the target.
 *
 * @returns the pass over all tables.
 */
export async function copyToTheEnd(application: string, parts: CopyParts): Promise<CopyPass> {
  const pass = await copyUntilEqual(parts);
  await complete(application, pass.plan, parts);
  return pass;
}

/** Copies a source that nothing changes. Tables that were not equal are compared again, until all are equal by count and checksum. */
export async function copyUntilEqual(parts: CopyParts): Promise<CopyPass> {
  const pass = await copyOnce(parts);
  await syncUntilEqual(pass.changedTables, parts);
  return pass;
}

async function syncUntilEqual(tables: readonly MovedTable[], parts: CopyParts): Promise<void> {
  let changedTables = tables;
  for (let attempt = 1; changedTables.length > 0; attempt += 1) {
    if (attempt === maxFinalPasses)
      throw new Error('The copy still differs from the source. Make sure that no server writes to it, and try again.');
    ({ changedTables } = await syncTables(changedTables, parts));
  }
}

/** The target is equal to a snapshot of the source. */
export interface EqualCopy {
  readonly snapshot: MoveSnapshot;
  readonly pass: CopyPass;
}

/**
 * Copies what has changed since the snapshot, or since the last call, while the source serves requests. The target does
 * not read other rows again.
 *
 * @returns the number of rows that were added or removed; null if the definitions have changed, so that all rows must
 * be compared again.
 */
export async function copyChanges(copy: EqualCopy, parts: CopyParts): Promise<number | null> {
  if (!(await hasSameDefinitions(copy, parts))) return null;
  try {
    await copy.snapshot.advance();
    const { changed, others } = await applySnapshotChanges(copy, parts);
    await syncTables(others, parts);
    return (await hasSameDefinitions(copy, parts)) ? changed : null;
  } catch (error) {
    // A table or column may no longer exist.
    if (!(await hasSameDefinitions(copy, parts))) return null;
    throw error;
  }
}

/**
 * Copies what has changed since the snapshot or the last call of {@link copyChanges}, while nothing writes to the
 * source, and completes the target.
 *
 * @param deadline by performance.now().
 * @returns the number of rows that were added or removed; null if the definitions have changed, so that all rows must
 * be compared again.
 */
export async function copyLastChanges(
  copy: EqualCopy,
  parts: CopyParts,
  { application, deadline }: { readonly application: string; readonly deadline: number },
): Promise<number | null> {
  if (!(await hasSameDefinitions(copy, parts))) return null;
  await copy.snapshot.advance(deadline);
  const { changed, others } = await applySnapshotChanges(copy, parts);
  await syncUntilEqual(others, parts);
  await complete(application, copy.pass.plan, parts);
  return changed;
}

async function hasSameDefinitions({ pass: { plan } }: EqualCopy, { source }: CopyParts): Promise<boolean> {
  const present = await planTables(source);
  return isDeepStrictEqual([present.tables, present.created], [plan.tables, plan.created]);
}

/** @returns the tables whose changes cannot be found without a comparison of all rows. */
async function applySnapshotChanges(
  { snapshot, pass: { plan } }: EqualCopy,
  { target, onPiece }: CopyParts,
): Promise<{ readonly changed: number; readonly others: readonly MovedTable[] }> {
  let changed = 0;
  const others: MovedTable[] = [];
  for (const table of plan.tables) {
    const changes = await snapshot.changes(table);
    if (changes === null) others.push(table);
    else
      for await (const piece of changes) {
        await target.applyChanges(table, piece);
        changed += piece.removed.length + piece.added.length;
        onPiece();
      }
    onPiece();
  }
  return { changed, others };
}

async function complete(application: string, plan: TablePlan, { source, target }: CopyParts): Promise<void> {
  const generated: Record<string, string> = {};
  for (const table of plan.tables) {
    const last = table.generated === null ? null : await source.lastGenerated(table);
    if (last !== null) generated[table.table] = String(last);
  }
  await target.complete({ application, versions: await source.versions(), generated }, plan);
}

async function syncTables(
  tables: readonly MovedTable[],
  { source, target, onPiece }: CopyParts,
): Promise<Omit<CopyPass, 'plan'>> {
  let [rows, changed] = [0, 0];
  const changedTables: MovedTable[] = [];
  for (const table of tables) {
    const comparison = await target.syncTable(source, table);
    rows += comparison.rows;
    changed += comparison.changed;
    if (comparison.changed > 0) changedTables.push(table);
    else if (comparison.sourceDigest !== comparison.targetDigest)
      throw new Error(`The checksums of the table "${table.table}" differ, although its rows do not.`);
    onPiece();
  }
  return { rows, changed, changedTables };
}

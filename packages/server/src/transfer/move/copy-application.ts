/** Copies the tables of an application to stores that are being built, in passes that each write what differs. */
import { reconcileSearchIndexes } from '../../collections/reconcile-search-indexes.ts';
import type { MoveReader, MoveTarget } from '../../database/move/move-stores.ts';
import type { MovedTable } from '../../database/move/moved-table.ts';
import { planTables, type TablePlan } from './plan-tables.ts';
import { syncTable } from './sync-table.ts';

/** The definitions that the tables of the target were created from, by table. They are stored, so that a move can be continued. */
export type CreatedTables = Record<string, string>;

export interface CopyParts {
  readonly source: MoveReader;
  readonly target: MoveTarget;
  readonly created: CreatedTables;
  /** Stores {@link CopyParts.created}. */
  readonly save: () => Promise<void>;
  /** Is called after each table. It may throw to end the pass. */
  readonly onTable: () => void;
}

export interface CopyPass {
  readonly plan: TablePlan;
  readonly rows: number;
  readonly changed: number;
  /** The tables that were not equal. */
  readonly changedTables: readonly MovedTable[];
}

/** The source was written while it should not have been, or the target does not take what it is given. */
const maxFinalPasses = 8;

/** Compares all tables once, and writes the differences to the target. @throws Error if the stores cannot be copied. */
export async function copyOnce(parts: CopyParts): Promise<CopyPass> {
  const plan = await planTables(parts.source);
  await createTables(plan, parts);
  return { plan, ...(await syncTables(plan.tables, parts)) };
}

/**
 * Copies the rest while nothing writes to the source, and completes the target. Tables that were not equal are compared again, until all
 * are equal by count and checksum.
 *
 * @returns the pass over all tables.
 */
export async function copyToTheEnd(application: string, parts: CopyParts): Promise<CopyPass> {
  const { source, target } = parts;
  const pass = await copyOnce(parts);
  let { changedTables } = pass;
  for (let attempt = 1; changedTables.length > 0; attempt += 1) {
    if (attempt === maxFinalPasses)
      throw new Error('The copy still differs from the source. Make sure that no server writes to it, and try again.');
    ({ changedTables } = await syncTables(changedTables, parts));
  }
  for (const table of pass.plan.tables) {
    const last = table.generated === null ? null : await source.lastGenerated(table);
    if (last !== null) await target.setLastGenerated(table, last);
  }
  await target.inTransaction((transaction) => reconcileSearchIndexes(target, transaction, pass.plan.registry));
  await target.relate(pass.plan.created);
  await target.complete(application, await source.versions());
  return pass;
}

async function syncTables(
  tables: readonly MovedTable[],
  { source, target, onTable }: CopyParts,
): Promise<Omit<CopyPass, 'plan'>> {
  let [rows, changed] = [0, 0];
  const changedTables: MovedTable[] = [];
  for (const table of tables) {
    const comparison = await syncTable(source, target, table);
    rows += comparison.rows;
    changed += comparison.changed;
    if (comparison.changed > 0) changedTables.push(table);
    else if (comparison.sourceDigest !== comparison.targetDigest)
      throw new Error(`The checksums of the table "${table.table}" differ, although its rows do not.`);
    onTable();
  }
  return { rows, changed, changedTables };
}

/** Creates tables that are missing or whose definitions have changed, and drops those of collections that no longer exist. */
async function createTables(plan: TablePlan, { target, created, save }: CopyParts): Promise<void> {
  await target.createFixedTables();
  const wanted = new Map(plan.created.map((each) => [each.table, each]));
  const describe = (table: string): string => JSON.stringify(wanted.get(table));
  const outdated = Object.keys(created).filter((table) => created[table] !== describe(table));
  const missing = [...wanted.values()].filter(({ table }) => created[table] !== describe(table));
  if (outdated.length + missing.length === 0) return;
  // A table is only noted while it is exactly as noted, so that an interruption cannot leave a wrong one.
  for (const table of outdated) delete created[table];
  await save();
  for (const table of outdated) await target.dropTable(table);
  for (const each of missing) {
    await target.createTable(each);
    created[each.table] = describe(each.table);
  }
  await save();
}

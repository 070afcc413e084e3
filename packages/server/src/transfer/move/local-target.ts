/** A copy in stores that this process opens. */
import type { BlobStore } from '../../base/blob-store.ts';
import { reconcileSearchIndexes } from '../../collections/reconcile-search-indexes.ts';
import type { MoveReader, MoveTarget, RowChanges } from '../../database/move/move-stores.ts';
import type { MovedTable } from '../../database/move/moved-table.ts';
import { applyChanges, requireApplied, splitChanges } from './apply-changes.ts';
import { copyBlobs, type KnownBlobs, receiveInto } from './copy-blobs.ts';
import {
  type CopiedBlobs,
  type CopyEnd,
  type CopyTarget,
  type CreatedParts,
  type CreatedTables,
  describeTable,
} from './copy-target.ts';
import type { TablePlan } from './plan-tables.ts';
import { syncTable, type TableComparison } from './sync-table.ts';

/** Stores that are being built, opened. */
export interface OpenTarget {
  readonly target: MoveTarget;
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

export class LocalCopyTarget implements CopyTarget {
  readonly #opened: OpenTarget;
  readonly #known: KnownBlobs = new Map();

  constructor(opened: OpenTarget) {
    this.#opened = opened;
  }

  async createFixedTables(): Promise<void> {
    await this.#opened.target.createFixedTables();
    await this.#opened.target.beginCopy();
  }

  async createTables(plan: TablePlan, { created, save }: CreatedParts): Promise<boolean> {
    const changes = listTableChanges(plan, created);
    if (changes.dropped.length + changes.missing.length === 0) return true;
    // A table is only listed as created while it matches its stored definition exactly, so that an interruption cannot
    // leave a wrong entry.
    for (const table of changes.dropped) delete created[table];
    await save();
    Object.assign(created, await recreateTables(this.#opened.target, plan, changes));
    await save();
    return true;
  }

  syncTable(source: MoveReader, table: MovedTable): Promise<TableComparison> {
    return syncTable({ table, rows: source.rows(table), target: this.#opened.target });
  }

  async applyChanges(table: MovedTable, changes: RowChanges): Promise<void> {
    for (const piece of splitChanges(changes))
      await requireApplied(table, piece, await applyChanges(this.#opened.target, table, piece));
  }

  copyBlobs(from: BlobStore, onBlob: () => void): Promise<CopiedBlobs> {
    return copyBlobs(from, receiveInto(this.#opened.blobs), { known: this.#known, onBlob });
  }

  analyse(): Promise<void> {
    return this.#opened.target.analyse();
  }

  tryToComplete({ created }: TablePlan): Promise<void> {
    return this.#opened.target.tryToRelate(created);
  }

  async complete({ application, versions, generated }: CopyEnd, plan: TablePlan): Promise<void> {
    const { target } = this.#opened;
    for (const table of plan.tables) {
      const last = generated[table.table];
      if (table.generated !== null && last !== undefined) await target.setLastGenerated(table, BigInt(last));
    }
    await target.inTransaction((transaction) => reconcileSearchIndexes(target, transaction, plan.registry));
    await target.relate(plan.created);
    await target.complete(application, versions);
  }

  close(): Promise<void> {
    return this.#opened.close();
  }
}

export interface TableChanges {
  /** Tables that differ from the plan, or that the plan does not have. */
  readonly dropped: readonly string[];
  readonly missing: readonly string[];
}

export function listTableChanges(plan: TablePlan, created: Readonly<CreatedTables>): TableChanges {
  const isCurrent = (table: string): boolean => created[table] === describeTable(plan, table);
  return {
    dropped: Object.keys(created).filter((table) => !isCurrent(table)),
    missing: plan.created.map(({ table }) => table).filter((table) => !isCurrent(table)),
  };
}

/** @returns the definitions of the created tables. */
export async function recreateTables(
  target: MoveTarget,
  plan: TablePlan,
  { dropped, missing }: TableChanges,
): Promise<CreatedTables> {
  for (const table of dropped) await target.dropTable(table);
  const created: CreatedTables = {};
  for (const each of plan.created) {
    if (!missing.includes(each.table)) continue;
    await target.createTable(each);
    created[each.table] = describeTable(plan, each.table) ?? '';
  }
  return created;
}

/** Whether the source of a move is still as it was copied. */
import type { MoveReader } from './database/move/move-stores.ts';
import { listFixedTables } from './database/move/moved-table.ts';

/** What changes as soon as an application that was stopped is started or written. */
export interface StoppedSource {
  /** When the record of the application was last changed. Each start and stop changes it. */
  readonly updatedAt: string;
  readonly version: string;
  readonly schema: string;
  readonly lastEvent: string | null;
}

export async function readStoppedSource(reader: MoveReader, updatedAt: unknown): Promise<StoppedSource> {
  const { version, schema } = await reader.versions();
  const events = listFixedTables().find(({ table }) => table === '_events');
  const lastEvent = events ? await reader.lastGenerated(events) : null;
  return { updatedAt: String(updatedAt), version, schema, lastEvent: lastEvent?.toString() ?? null };
}

export function isEqualSource(one: StoppedSource, other: StoppedSource): boolean {
  return (
    one.updatedAt === other.updatedAt &&
    one.version === other.version &&
    one.schema === other.schema &&
    one.lastEvent === other.lastEvent
  );
}

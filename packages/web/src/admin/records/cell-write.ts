import type { RecordValues } from '@tablinum/client';

/** The new value of a cell. */
export interface CellWrite {
  readonly value: unknown;
  /** For a relation: the linked record, which is shown until the server has answered. */
  readonly record?: RecordValues | null | undefined;
}

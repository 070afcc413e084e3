import type { Key } from './dto.ts';
import type { Import } from './import-parameters.ts';
import { type ActionOptions, Records } from './records.ts';

/** Imports. The caller who started an import can follow and cancel it. */
export class Imports extends Records<Import> {
  /** Stops an import between two transactions. What was written stays. */
  async cancel(id: Key, options: ActionOptions = {}): Promise<Import> {
    const request = { ...options, method: 'POST' as const, query: { filterByTk: id } };
    return (await this.transport.call<Import>(`${this.path}:cancel`, request)).data;
  }

  /** The refused rows as a file that can be corrected and imported again. */
  refusedRows(id: Key, format: 'csv' | 'xlsx' = 'csv', options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:refusedRows`, { ...options, query: { filterByTk: id, format } });
  }
}

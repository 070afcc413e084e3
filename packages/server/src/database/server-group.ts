/**
 * A request to the other servers of the group. `withdrawn`: close applications that are not served any more; `main`:
 * start again.
 */
export type GroupMessage = 'withdrawn' | 'main';

/**
 * The servers that share a database. Each one notes which stores it has open, and on which node of a cluster (`holdName`), so that another
 * one can wait until they are closed everywhere, or on that node. If a server dies, its notes end with its connection.
 */
export interface ServerGroup {
  /**
   * Notes that this server opens a store. Notes of one store are counted.
   *
   * @throws ApiError 503 while another server waits until it is closed; DatabaseFault.
   */
  hold(store: string): Promise<void>;
  /** Whether another server holds a store. */
  isHeldElsewhere(store: string): Promise<boolean>;
  /** Removes a note, when the store is closed. */
  release(store: string): Promise<void>;
  /**
   * Requests the other servers to close stores that are no longer served, and waits until none of them has the store
   * open.
   *
   * @returns false if one of them still has it open after `milliseconds`.
   */
  waitUntilClosed(store: string, milliseconds: number): Promise<boolean>;
  /** @param listener is called for messages, and with `withdrawn` after messages may have been missed. */
  watch(listener: (message: GroupMessage) => void): void;
}

/**
 * The connections to mail servers that this server holds for synchronisation: one for each account, and limits for each host and in
 * total. Accounts that wait for a connection get one in the order of their requests. A connection that is only waiting for new mail is
 * given up for them after a while, see {@link ConnectionSlot.isWanted}.
 */
export class ConnectionSlots {
  readonly #limits: ConnectionLimits;
  readonly #openByHost = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  #open = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Open connections. */
  get open(): number {
    return this.#open;
  }

  /** Waits for a connection to a host. @throws the reason of the signal when it is aborted during the wait. */
  acquire(host: string, signal: AbortSignal): Promise<ConnectionSlot> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        host,
        grant: () => {
          signal.removeEventListener('abort', abort);
          resolve(this.#createSlot(host));
        },
      };
      const abort = (): void => {
        const index = this.#waiting.indexOf(waiter);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.push(waiter);
      this.#grant();
    });
  }

  #createSlot(host: string): ConnectionSlot {
    let isHeld = true;
    const isWanted = (): boolean =>
      this.#waiting.some((each) => each.host === host || this.#open >= this.#limits.total);
    return {
      get isWanted() {
        return isWanted();
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#open -= 1;
        const left = (this.#openByHost.get(host) ?? 1) - 1;
        if (left > 0) this.#openByHost.set(host, left);
        else this.#openByHost.delete(host);
        this.#grant();
      },
    };
  }

  /** An account whose host has reached its limit does not block accounts of other hosts. */
  #grant(): void {
    for (let index = 0; index < this.#waiting.length && this.#open < this.#limits.total; ) {
      const waiter = this.#waiting[index];
      const openOfHost = this.#openByHost.get(waiter?.host ?? '') ?? 0;
      if (!waiter || openOfHost >= this.#limits.perHost) {
        index += 1;
        continue;
      }
      this.#waiting.splice(index, 1);
      this.#openByHost.set(waiter.host, openOfHost + 1);
      this.#open += 1;
      waiter.grant();
    }
  }
}

/** How many connections this server holds at once. */
export interface ConnectionLimits {
  readonly perHost: number;
  readonly total: number;
}

/** The right to one connection. */
export interface ConnectionSlot {
  /** Whether another account waits for this connection. */
  readonly isWanted: boolean;
  /** Further calls have no effect. */
  release(): void;
}

interface Waiter {
  readonly host: string;
  readonly grant: () => void;
}

import pg from 'pg';

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * Bounds the connections of all pools of a server together: PostgreSQL refuses what is over its own limit, so those who
 * want one more wait until another one ends. Pools of applications keep idle connections for a short time only.
 */
export class ConnectionBudget {
  /** The client class for pools under this budget. */
  readonly client: typeof pg.Client;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(most: number) {
    this.#free = most;
    const take = (): Promise<void> => this.#take();
    const give = (): void => this.#give();
    this.client = class extends pg.Client {
      override connect(): Promise<pg.Client>;
      override connect(callback: Connected): void;
      override connect(callback?: Connected): Promise<pg.Client> | undefined {
        const connected = take().then(() => {
          this.once('end', give);
          return super.connect();
        });
        if (!callback) return connected;
        connected.then(
          (client) => (callback as (error: null, client: pg.Client) => void)(null, client),
          (error: Error) => (callback as (error: Error) => void)(error),
        );
        return undefined;
      }
    };
  }

  #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}

import { ApiError } from '../protocol/api-error.ts';
import type { Application } from './application.ts';

/** The application that every store has. */
export const mainName = 'main';

/** The applications of this server, by name. */
export class Applications {
  readonly #main: Application;

  constructor(main: Application) {
    this.#main = main;
  }

  get main(): Application {
    return this.#main;
  }

  /**
   * The application that X-App names; `main` without the header.
   *
   * Where it cannot be used, `error` says why, to be told after the caller has proved who they are; until then `main`
   * stands for it.
   */
  find(name: string | undefined): { readonly application: Application; readonly error: ApiError | null } {
    if (name === undefined || name === mainName) return { application: this.#main, error: null };
    const error = new ApiError('APPLICATION_UNKNOWN', `There is no application "${name.slice(0, 60)}".`);
    return { application: this.#main, error };
  }

  async close(): Promise<void> {
    await this.#main.close();
  }
}

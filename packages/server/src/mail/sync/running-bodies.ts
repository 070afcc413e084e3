/**
 * The bodies that this server reads from mail servers now, by e-mail: readers and the background download share one fetch.
 *
 *     running.add([emailId], fetching);
 *     await running.get(emailId);
 */
export class RunningBodies {
  readonly #running = new Map<number, Promise<unknown>>();

  /** What reads the body of an e-mail now. It may fail. */
  get(emailId: number): Promise<unknown> | undefined {
    return this.#running.get(emailId);
  }

  /** Notes what reads the bodies of e-mails, until it ends. */
  add(emailIds: readonly number[], reading: Promise<unknown>): void {
    for (const each of emailIds) this.#running.set(each, reading);
    const remove = (): void => {
      for (const each of emailIds) if (this.#running.get(each) === reading) this.#running.delete(each);
    };
    reading.then(remove, remove);
  }
}

/**
 * The base of every state that lives outside of React components. A component subscribes to it with {@link useStore} or
 * {@link useStoreValue} and is rendered again when the state changes.
 *
 * A class with operations of its own extends {@link ObservableState}; a single value of a module is a {@link ValueStore}.
 *
 * @example
 * const questions = new ValueStore<Question | null>(null);
 * questions.set({ title: 'Delete?' });
 * const question = useStore(questions); // in a component
 */
import { useSyncExternalStore } from 'react';

/** An immutable state, the listeners that are called after each change, and ways to change it for subclasses. */
export abstract class ObservableState<State> {
  readonly #listeners = new Set<() => void>();
  #state: State;

  constructor(initialState: State) {
    this.#state = initialState;
  }

  /** The current state: the same object until it changes. Bound, so that it can be passed to `useSyncExternalStore`. */
  readonly snapshot = (): State => this.#state;

  /** Calls the listener after every change. @returns a function that ends the subscription. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  get state(): State {
    return this.#state;
  }

  protected get hasSubscribers(): boolean {
    return this.#listeners.size > 0;
  }

  protected replaceState(state: State): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  /** Replaces the properties that are given and keeps the others. */
  protected updateState(change: Partial<State>): void {
    this.replaceState({ ...this.#state, ...change });
  }
}

/** A store that anybody who can import it may set. */
export class ValueStore<Value> extends ObservableState<Value> {
  set(value: Value): void {
    this.replaceState(value);
  }
}

export function useStore<State>(store: ObservableState<State>): State {
  return useSyncExternalStore(store.subscribe, store.snapshot);
}

/** Renders again only when the selected value changes, compared with `Object.is`. */
export function useStoreValue<State, Selected>(
  store: ObservableState<State>,
  select: (state: State) => Selected,
): Selected {
  return useSyncExternalStore(store.subscribe, () => select(store.state));
}

import { useLayoutEffect, useRef, useState } from 'react';

/** An object that stays the same, whose functions are always those of the last drawing. */
export function useStable<T extends object>(functions: T): T {
  const latest = useRef(functions);
  useLayoutEffect(() => {
    latest.current = functions;
  });
  const [stable] = useState(() => {
    const names = Object.keys(functions) as (keyof T)[];
    const calls = names.map((name) => [
      name,
      (...given: unknown[]) => (latest.current[name] as (...all: unknown[]) => unknown)(...given),
    ]);
    return Object.fromEntries(calls) as T;
  });
  return stable;
}

import { useLayoutEffect, useRef, useState } from 'react';

/** An object with a stable identity whose functions are always those of the last render. */
export function useStable<T extends object>(functions: T): T {
  const latest = useRef(functions);
  useLayoutEffect(() => {
    latest.current = functions;
  });
  const [stable] = useState(() => {
    const names = Object.keys(functions) as (keyof T)[];
    const entries = names.map((name) => [
      name,
      (...parameters: unknown[]) => (latest.current[name] as (...all: unknown[]) => unknown)(...parameters),
    ]);
    return Object.fromEntries(entries) as T;
  });
  return stable;
}

import { useEffect, useEffectEvent } from 'react';
import { isTakenKey } from '../ui/taken-keys.ts';

/** Keys that repeat while they are held down. All other keys run once. */
const repeatableKeys = new Set(['j', 'k']);
/** After `g` the next key opens a section of the shell. */
const sequenceTimeoutMilliseconds = 1200;

/** Runs the function that is bound to a key, except in inputs and dialogs. Keys are values of `KeyboardEvent.key`. */
export function useKeyBindings(keys: Readonly<Record<string, () => void>>): void {
  const find = useEffectEvent((key: string) => keys[key]);
  useEffect(() => {
    let prefixPressedAt = Number.NEGATIVE_INFINITY;
    const handleKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTakenKey(event)) return;
      if (event.timeStamp - prefixPressedAt < sequenceTimeoutMilliseconds) {
        prefixPressedAt = Number.NEGATIVE_INFINITY;
        return;
      }
      if (event.key === 'g') prefixPressedAt = event.timeStamp;
      const run = find(event.key);
      if (!run || (event.repeat && !repeatableKeys.has(event.key))) return;
      event.preventDefault();
      run();
    };
    addEventListener('keydown', handleKeyDown);
    return () => removeEventListener('keydown', handleKeyDown);
  }, []);
}

import { useEffect, useEffectEvent } from 'react';

/** A key that is held down steps on; nothing else is done again by it. */
const repeatableKeys = new Set(['j', 'k']);
/** After `g` the next key names a section of the shell. */
const sequenceTimeoutMilliseconds = 1200;

/** Calls what a key stands for, outside of fields and dialogs. Keys are as `KeyboardEvent.key` names them. */
export function useKeyBindings(keys: Readonly<Record<string, () => void>>): void {
  const find = useEffectEvent((key: string) => keys[key]);
  useEffect(() => {
    let prefixPressedAt = Number.NEGATIVE_INFINITY;
    const handleKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isHandledElsewhere(event)) return;
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

/** Somebody types, or a dialog or menu is open, or a button or link has its own use for the key. */
function isHandledElsewhere({ target, key }: KeyboardEvent): boolean {
  if (document.querySelector('[role=dialog], [role=menu]')) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    return !(target instanceof HTMLInputElement && target.type === 'checkbox' && key !== ' ');
  return (key === 'Enter' || key === ' ') && target.closest('button, a') !== null;
}

import { useEffect, useEffectEvent } from 'react';

/** A key that is held down steps on; nothing else is done again by it. */
const steps = new Set(['j', 'k']);
/** After `g` the next key names a section of the shell. */
const patienceMilliseconds = 1200;

/** Calls what a key stands for, outside of fields and dialogs. Keys are as `KeyboardEvent.key` names them. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const find = useEffectEvent((key: string) => keys[key]);
  useEffect(() => {
    let leaving = Number.NEGATIVE_INFINITY;
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isElsewhere(event)) return;
      if (event.timeStamp - leaving < patienceMilliseconds) {
        leaving = Number.NEGATIVE_INFINITY;
        return;
      }
      if (event.key === 'g') leaving = event.timeStamp;
      const run = find(event.key);
      if (!run || (event.repeat && !steps.has(event.key))) return;
      event.preventDefault();
      run();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

/** Somebody types, or a dialog or menu is open, or a button or link has its own use for the key. */
function isElsewhere({ target, key }: KeyboardEvent): boolean {
  if (document.querySelector('[role=dialog], [role=menu]')) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    return !(target instanceof HTMLInputElement && target.type === 'checkbox' && key !== ' ');
  return (key === 'Enter' || key === ' ') && target.closest('button, a') !== null;
}

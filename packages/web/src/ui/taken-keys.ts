/** Keys that belong to an input, an open dialog or menu, or a focused button or link, and therefore to no shortcut of a page. */

const taken = new WeakSet<KeyboardEvent>();

/**
 * Records for each key whether it is taken. Call it before anything else listens for keys: if the user prefers reduced
 * motion, the key that closes a dialog reaches the page after the dialog is gone.
 */
export function watchTakenKeys(): void {
  const note = (event: KeyboardEvent): void => {
    if (belongsElsewhere(event)) taken.add(event);
  };
  addEventListener('keydown', note, { capture: true });
}

export function isTakenKey(event: KeyboardEvent): boolean {
  return taken.has(event);
}

function belongsElsewhere({ target, key }: KeyboardEvent): boolean {
  if ([...document.querySelectorAll<HTMLElement>('[role=dialog], [role=menu]')].some(isOpen)) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    return !(target instanceof HTMLInputElement && target.type === 'checkbox' && key !== ' ');
  return (key === 'Enter' || key === ' ') && target.closest('button, a') !== null;
}

/** Whether a dialog or menu is open: one that is closing stays in the page while it fades out. */
function isOpen(element: HTMLElement): boolean {
  return element.style.opacity !== '0' || element.contains(document.activeElement);
}

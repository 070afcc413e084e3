import { type PointerEvent, useRef } from 'react';

/** What a swipe of a row does. `right` and `left` are directions on the screen. */
export interface SwipeActions {
  readonly right: (() => void) | null;
  readonly left: (() => void) | null;
}

interface SwipeHandlers {
  readonly onPointerDown: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerMove: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerUp: (event: PointerEvent<HTMLElement>) => void;
  readonly onPointerCancel: (event: PointerEvent<HTMLElement>) => void;
  readonly onClickCapture: (event: { preventDefault(): void; stopPropagation(): void }) => void;
}

/** Pixels from which a movement is a swipe and no tap, and from which it runs its action. */
const startDistance = 12;
const actionDistance = 88;

interface Movement {
  readonly x: number;
  readonly y: number;
  /** The finger has moved sideways before it moved up or down, so the list does not scroll. */
  isSwipe: boolean;
}

/**
 * Handlers for swipes with a finger. The row follows the finger (`--swipe`), and `data-swipe` says what lifting it would do. CSS
 * `touch-action: pan-y` leaves scrolling to the browser, which cancels the pointer.
 */
export function useSwipe({ right, left }: SwipeActions): SwipeHandlers {
  const movement = useRef<Movement | null>(null);
  const hasSwiped = useRef(false);
  const end = (element: HTMLElement): void => {
    movement.current = null;
    element.style.removeProperty('--swipe');
    delete element.dataset['swipe'];
  };
  return {
    onPointerDown: ({ pointerType, clientX, clientY, isPrimary }) => {
      hasSwiped.current = false;
      movement.current = pointerType === 'touch' && isPrimary ? { x: clientX, y: clientY, isSwipe: false } : null;
    },
    onPointerMove: ({ clientX, clientY, currentTarget, pointerId }) => {
      const begun = movement.current;
      if (!begun) return;
      const moved = clientX - begun.x;
      if (!begun.isSwipe) {
        if (Math.abs(moved) < startDistance || Math.abs(clientY - begun.y) > Math.abs(moved)) return;
        begun.isSwipe = true;
        hasSwiped.current = true;
        currentTarget.setPointerCapture(pointerId);
      }
      const isPossible = moved > 0 ? right !== null : left !== null;
      currentTarget.style.setProperty('--swipe', `${isPossible ? moved : 0}px`);
      currentTarget.dataset['swipe'] = isPossible ? (moved > 0 ? 'right' : 'left') : '';
    },
    onPointerUp: ({ clientX, currentTarget }) => {
      const begun = movement.current;
      end(currentTarget);
      if (!begun?.isSwipe) return;
      const moved = clientX - begun.x;
      if (moved >= actionDistance) right?.();
      else if (moved <= -actionDistance) left?.();
    },
    onPointerCancel: ({ currentTarget }) => end(currentTarget),
    // A swipe is no tap on the row.
    onClickCapture: (event) => {
      if (!hasSwiped.current) return;
      hasSwiped.current = false;
      event.preventDefault();
      event.stopPropagation();
    },
  };
}

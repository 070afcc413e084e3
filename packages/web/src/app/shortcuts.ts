import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useApplication } from '../data/application.tsx';
import { sections } from './sections.ts';

const sequenceTimeoutMilliseconds = 1200;

/**
 * The keyboard shortcuts of the shell: `mod+K` opens the palette; `g` and the key of a section open it, except in
 * inputs.
 */
export function useShortcuts(openPalette: () => void): void {
  const navigate = useNavigate();
  const application = useApplication();
  useEffect(() => {
    // Event times count from the opening of the page, so 0 would look like a `g` at that time.
    let prefixPressedAt = Number.NEGATIVE_INFINITY;
    const handleKeyDown = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (event.key === 'g') prefixPressedAt = event.timeStamp;
      else if (event.timeStamp - prefixPressedAt < sequenceTimeoutMilliseconds) {
        prefixPressedAt = Number.NEGATIVE_INFINITY;
        const section = sections.find(({ key }) => key === event.key);
        if (section) void navigate({ to: `/a/${application}/${section.path}` });
      }
    };
    addEventListener('keydown', handleKeyDown);
    return () => removeEventListener('keydown', handleKeyDown);
  }, [navigate, application, openPalette]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
      target.closest('[role=grid]') !== null)
  );
}

import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useApplication } from '../data/application.tsx';
import { sections } from './sections.ts';

const sequenceTimeoutMilliseconds = 1200;

/** `mod+K` opens the palette; `g` and a section's key lead there, outside of fields. */
export function useShortcuts(openPalette: () => void): void {
  const navigate = useNavigate();
  const application = useApplication();
  useEffect(() => {
    // Moments count from when the page was opened: 0 would make a `g` of that.
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

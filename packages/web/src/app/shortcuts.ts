import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useApplication } from '../data/application.tsx';
import { sections } from './sections.ts';

const patienceMilliseconds = 1200;

/** `mod+K` opens the palette; `g` and a section's key lead there, outside of fields. */
export function useShortcuts(openPalette: () => void): void {
  const navigate = useNavigate();
  const application = useApplication();
  useEffect(() => {
    // Moments count from when the page was opened: 0 would make a `g` of that.
    let begun = Number.NEGATIVE_INFINITY;
    const pressed = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (event.key === 'g') begun = event.timeStamp;
      else if (event.timeStamp - begun < patienceMilliseconds) {
        begun = Number.NEGATIVE_INFINITY;
        const section = sections.find(({ key }) => key === event.key);
        if (section) void navigate({ to: `/a/${application}/${section.path}` });
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
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

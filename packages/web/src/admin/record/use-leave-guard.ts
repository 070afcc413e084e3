import { useBlocker } from '@tanstack/react-router';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';

/** Asks before a page is left on which something is not saved yet. */
export function useLeaveGuard(unsaved: boolean): void {
  const t = useTexts().data.record;
  useBlocker({
    shouldBlockFn: async () => !(await confirm({ title: t.unsaved, text: t.unsavedText, confirmLabel: t.discard })),
    enableBeforeUnload: unsaved,
    disabled: !unsaved,
  });
}

import { useBlocker } from '@tanstack/react-router';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';

/** Asks for a confirmation before the user leaves a page with unsaved changes. */
export function useLeaveGuard(unsaved: boolean): void {
  const t = useTexts().data.record;
  useBlocker({
    shouldBlockFn: async () => !(await confirm({ title: t.unsaved, text: t.unsavedText, confirmLabel: t.discard })),
    enableBeforeUnload: unsaved,
    disabled: !unsaved,
  });
}

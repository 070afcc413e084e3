import type { Collection, Key, RecordValues } from '@tablinum/client';
import { useClient } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import type { RowWindow } from '../../data/records/row-window.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type BulkSelection, countSelected, writeSelected } from './bulk-selection.ts';

interface BulkActionsOptions {
  readonly collection: Collection;
  readonly rows: RowWindow;
  readonly selection: BulkSelection;
  readonly clear: () => void;
  readonly trash: boolean;
  readonly reload: () => void;
}

interface BulkActions {
  readonly restore: (which: BulkSelection) => Promise<void>;
  readonly destroy: () => Promise<void>;
  /** Reads the selected rows again. */
  readonly refresh: () => void;
}

/** Deletes and restores the selected records. A toast shows how many the server has written. */
export function useBulkActions(options: BulkActionsOptions): BulkActions {
  const { collection, rows, selection, clear, trash, reload } = options;
  const t = useTexts().data.records.bulk;
  const records = useClient().records(collection.name);
  const report = (error: unknown): void => void toast(getErrorMessage(error), { failed: true });
  /**
   * Removed rows stay in the list, marked, until it is read again. After a write to the whole list, the list is read at
   * once.
   */
  const handleRemoved = (which: BulkSelection): void => {
    if (which.kind === 'keys') rows.markRemoved(which.keys);
    else reload();
  };
  const restore = async (which: BulkSelection): Promise<void> => {
    try {
      const count = await writeSelected(records, which, ({ filterByTk }) =>
        records.restore<readonly RecordValues[]>(filterByTk as readonly Key[]),
      );
      toast(t.restored(count));
      clear();
      if (trash) handleRemoved(which);
      else reload();
    } catch (error) {
      report(error);
    }
  };
  const destroy = async (): Promise<void> => {
    const isSoftDelete = collection.options.paranoid === true && !trash;
    const title = t.destroyTitle(countSelected(selection));
    const text = isSoftDelete ? t.destroyTextTrash : t.destroyText;
    if (!(await confirm({ title, text, confirmLabel: trash ? t.destroyForGood : t.destroy, danger: true }))) return;
    try {
      const count = await writeSelected(records, selection, (where) =>
        records.destroy({ ...where, ...(trash && { force: true }) }),
      );
      handleRemoved(selection);
      clear();
      const undo = { action: { label: t.undo, run: () => void restore(selection) } };
      toast(t.destroyed(count), isSoftDelete && selection.kind === 'keys' ? undo : {});
    } catch (error) {
      report(error);
    }
  };
  const refresh = (): void => {
    if (selection.kind === 'keys') for (const key of selection.keys) rows.refresh(key);
    else reload();
  };
  return { restore, destroy, refresh };
}

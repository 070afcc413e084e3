import type { Collection, Key, RecordValues } from '@tablinum/client';
import { useClient } from '../../data/application.tsx';
import { messageOf } from '../../data/problem.tsx';
import type { RowWindow } from '../../data/records/row-window.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type BulkTarget, countOf, writeAll } from './bulk-target.ts';

interface BulkActionsOptions {
  readonly collection: Collection;
  readonly rows: RowWindow;
  readonly target: BulkTarget;
  readonly clear: () => void;
  readonly trash: boolean;
  readonly readAgain: () => void;
}

interface BulkActions {
  readonly restore: (which: BulkTarget) => Promise<void>;
  readonly destroy: () => Promise<void>;
  /** Reads the rows of the target again. */
  readonly refresh: () => void;
}

/** Deletes and restores the selected records; the toast says how many the server has written. */
export function useBulkActions(options: BulkActionsOptions): BulkActions {
  const { collection, rows, target, clear, trash, readAgain } = options;
  const t = useTexts().data.records.bulk;
  const records = useClient().records(collection.name);
  const report = (error: unknown): void => void toast(messageOf(error), { failed: true });
  /** Rows that were removed keep their place until the list is read again; of a whole list nothing else is left. */
  const removed = (which: BulkTarget): void => {
    if (which.kind === 'keys') rows.markGone(which.keys);
    else readAgain();
  };
  const restore = async (which: BulkTarget): Promise<void> => {
    try {
      const count = await writeAll(records, which, ({ filterByTk }) =>
        records.restore<readonly RecordValues[]>(filterByTk as readonly Key[]),
      );
      toast(t.restored(count));
      clear();
      if (trash) removed(which);
      else readAgain();
    } catch (error) {
      report(error);
    }
  };
  const destroy = async (): Promise<void> => {
    const soft = collection.options.paranoid === true && !trash;
    const title = t.destroyTitle(countOf(target));
    const text = soft ? t.destroyTextTrash : t.destroyText;
    if (!(await confirm({ title, text, act: trash ? t.destroyForGood : t.destroy, danger: true }))) return;
    try {
      const count = await writeAll(records, target, (where) =>
        records.destroy({ ...where, ...(trash && { force: true }) }),
      );
      removed(target);
      clear();
      const undo = { action: { label: t.undo, run: () => void restore(target) } };
      toast(t.destroyed(count), soft && target.kind === 'keys' ? undo : {});
    } catch (error) {
      report(error);
    }
  };
  const refresh = (): void => {
    if (target.kind === 'keys') for (const key of target.keys) rows.refresh(key);
    else readAgain();
  };
  return { restore, destroy, refresh };
}

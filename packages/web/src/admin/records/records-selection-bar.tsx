import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { findKeyField } from '../../data/records/label.ts';
import type { ListQuery, RowWindow } from '../../data/records/row-window.ts';
import type { Schema } from '../../data/schema.ts';
import { useStore } from '../../ui/store.ts';
import { BulkBar } from './bulk-bar.tsx';
import type { BulkSelection } from './bulk-selection.ts';
import type { RecordSelection } from './use-record-selection.ts';

interface RecordsSelectionBarProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly rows: RowWindow;
  /** What the list shows. */
  readonly view: ListQuery;
  readonly selection: RecordSelection;
  readonly trash: boolean;
  readonly reload: () => void;
}

/** The bar of bulk actions; nothing while no record is selected. */
export function RecordsSelectionBar(props: RecordsSelectionBarProps): ReactNode {
  const { collection, schema, rows, view, selection, trash, reload } = props;
  const { selected, allSelected } = selection;
  const { count, countIsEstimate: estimate } = useStore(rows);
  if (selected.size === 0 && !allSelected) return null;
  const bulkSelection: BulkSelection = allSelected
    ? { kind: 'matching', query: view, keyField: findKeyField(collection).name, count: count ?? 0 }
    : { kind: 'keys', keys: [...selected] };
  const hasMore = !allSelected && count !== null && selected.size < count && selected.size >= rows.loaded().length;
  return (
    <BulkBar
      collection={collection}
      schema={schema}
      rows={rows}
      selection={bulkSelection}
      more={hasMore ? { count, estimate, select: selection.selectAll } : null}
      clear={selection.clear}
      trash={trash}
      reload={reload}
    />
  );
}

import { Button, Modal, Text } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { type ReactNode, useRef, useState } from 'react';
import { getWriteName } from '../../data/field-names.ts';
import type { RowWindow } from '../../data/records/row-window.ts';
import type { Schema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import classes from './bulk-bar.module.css';
import { BulkEdit } from './bulk-edit.tsx';
import { type BulkSelection, countSelected } from './bulk-selection.ts';
import { useBulkActions } from './use-bulk-actions.ts';

interface BulkBarProps {
  readonly collection: Collection;
  readonly schema: Schema;
  readonly rows: RowWindow;
  readonly selection: BulkSelection;
  /** If more records match than are selected: their number, and a function that selects all of them. */
  readonly more: { readonly count: number; readonly estimate: boolean; readonly select: () => void } | null;
  readonly clear: () => void;
  readonly trash: boolean;
  readonly reload: () => void;
}

/** The bulk actions for the selected records. */
export function BulkBar(props: BulkBarProps): ReactNode {
  const { collection, schema, selection, more, clear, trash } = props;
  const t = useTexts().data.records.bulk;
  const [editing, setEditing] = useState(false);
  const bar = useRef<HTMLDivElement>(null);
  const { restore, destroy, refresh } = useBulkActions(props);
  const fields = (schema.forms.get(collection.name) ?? collection).fields.filter(
    (each) =>
      !each.readOnly &&
      !each.primaryKey &&
      (!each.target || each.type === 'belongsTo') &&
      schema.mayWrite(collection.name, 'update', getWriteName(each)),
  );
  const count = countSelected(selection);
  return (
    <div ref={bar} className={classes.bar} role="toolbar" aria-label={t.selected(count)} tabIndex={-1}>
      <Text fw={500} size="sm" className="tabular">
        {selection.kind === 'matching' ? t.allSelected(count) : t.selected(count)}
      </Text>
      {more && (
        <Button
          size="compact-sm"
          variant="subtle"
          onClick={() => {
            more.select();
            bar.current?.focus(); // the button disappears
          }}
        >
          {t.selectMatching(more.count, more.estimate)}
        </Button>
      )}
      {!trash && fields.length > 0 && <BarButton icon="edit" text={t.edit} onClick={() => setEditing(true)} />}
      {trash && schema.may(collection.name, 'restore') && (
        <BarButton icon="history" text={t.restore} onClick={() => void restore(selection)} />
      )}
      {schema.may(collection.name, 'destroy') && (
        <BarButton icon="trash" text={trash ? t.destroyForGood : t.destroy} onClick={() => void destroy()} />
      )}
      <Button size="compact-sm" variant="subtle" onClick={clear}>
        {t.clear}
      </Button>
      <Modal opened={editing} onClose={() => setEditing(false)} title={t.editTitle(count)}>
        <BulkEdit
          collection={collection}
          fields={fields}
          selection={selection}
          cancel={() => setEditing(false)}
          done={() => {
            setEditing(false);
            refresh();
          }}
        />
      </Modal>
    </div>
  );
}

function BarButton({ icon, text, onClick }: { icon: IconName; text: string; onClick: () => void }): ReactNode {
  return (
    <Button size="compact-sm" variant="default" leftSection={<Icon name={icon} size={14} />} onClick={onClick}>
      {text}
    </Button>
  );
}

import type { Field, RecordValues } from '@tablinum/client';
import { memo, type ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { getRecordLabel } from '../../data/records/label.ts';
import { useCollection } from '../../data/schema.ts';
import { Icon } from '../../ui/icon.tsx';
import { FileCell } from '../files/file-cell.tsx';
import { FileList } from '../files/file-list.tsx';
import { toFiles } from '../files/file-values.ts';
import classes from './cell-value.module.css';
import { formatValue } from './value-text.ts';

interface CellValueProps {
  readonly field: Field;
  readonly values: RecordValues;
  /** Shows the whole value; otherwise one line, cut off where it does not fit. */
  readonly whole?: boolean;
}

/** Shows a value for reading. */
export const CellValue = memo(function CellValue({ field, values, whole = false }: CellValueProps): ReactNode {
  const value = values[field.name];
  if (field.target) return <Linked field={field} values={values} />;
  if (value === null || value === undefined) return <span className={classes.none}>–</span>;
  if (field.type === 'file' && toFiles(value).length > 0)
    return whole ? <FileList label={getTitle(field)} files={toFiles(value)} /> : <FileCell files={toFiles(value)} />;
  if (field.type === 'boolean') return value === true ? <Icon name="check" size={16} /> : <Icon name="x" size={14} />;
  if (field.type === 'color')
    return (
      <>
        <span className={classes.swatch} style={{ backgroundColor: String(value) }} />
        {String(value)}
      </>
    );
  const text = formatValue(field, value, whole);
  if (whole) return <span className={classes.whole}>{text}</span>;
  return (
    <span className={classes.text} title={text.length > 24 ? text : undefined}>
      {text}
    </span>
  );
});

function Linked({ field, values }: { field: Field; values: RecordValues }): ReactNode {
  const target = useCollection(field.target ?? '');
  const record = values[field.name] as RecordValues | readonly RecordValues[] | null | undefined;
  if (Array.isArray(record))
    return (
      <span className={classes.text}>
        {record.map((each: RecordValues) => getRecordLabel(target, each)).join(', ')}
      </span>
    );
  if (record) return <span className={classes.link}>{getRecordLabel(target, record as RecordValues)}</span>;
  const key = field.foreignKey ? values[field.foreignKey] : null;
  return key == null ? <span className={classes.none}>–</span> : <span className={classes.link}>{String(key)}</span>;
}

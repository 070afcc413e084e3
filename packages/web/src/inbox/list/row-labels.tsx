import type { ReactNode } from 'react';
import { getLabelColor } from '../team/labels.ts';
import classes from './row-labels.module.css';

/** Further labels are counted, so that the subject stays readable. */
const maxShown = 3;

/** The labels of a conversation in the list, in their colours. */
export function RowLabels({ labels }: { labels: readonly string[] | null | undefined }): ReactNode {
  if (!labels || labels.length === 0) return null;
  const more = labels.length - maxShown;
  return (
    <span className={classes.labels} title={labels.join(', ')}>
      {labels.slice(0, maxShown).map((label) => (
        <span
          key={label}
          dir="auto"
          className={classes.label}
          style={{ background: `var(--mantine-color-${getLabelColor(label)}-light)` }}
        >
          {label}
        </span>
      ))}
      {more > 0 && <span className={classes.more}>+{more}</span>}
    </span>
  );
}

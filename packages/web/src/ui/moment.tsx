import type { ReactNode } from 'react';

const exactForm = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const form = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A moment in the reader's own zone and form, as text. */
export function momentText(iso: string, exact = false): string {
  const moment = new Date(iso);
  return Number.isNaN(moment.getTime()) ? iso : (exact ? exactForm : form).format(moment);
}

interface MomentProps {
  readonly at: string | null;
  /** What stands in its place where there is none. */
  readonly none?: string;
  /** To the second. */
  readonly exact?: boolean;
}

export function Moment({ at, none = '', exact = false }: MomentProps): ReactNode {
  if (at === null) return <span className="quiet">{none}</span>;
  return (
    <time dateTime={at} className="tabular nowrap">
      {momentText(at, exact)}
    </time>
  );
}

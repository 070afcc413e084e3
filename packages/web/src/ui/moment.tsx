import type { ReactNode } from 'react';

const form = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A moment in the reader's own zone and form, as text. */
export function momentText(iso: string): string {
  const moment = new Date(iso);
  return Number.isNaN(moment.getTime()) ? iso : form.format(moment);
}

/** A moment; what stands in its place where there is none. */
export function Moment({ at, none = '' }: { at: string | null; none?: string }): ReactNode {
  if (at === null) return <span className="quiet">{none}</span>;
  return (
    <time dateTime={at} className="tabular nowrap">
      {momentText(at)}
    </time>
  );
}

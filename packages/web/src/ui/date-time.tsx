import type { ReactNode } from 'react';

const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const defaultFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Formats a timestamp in the local time zone and format. */
export function formatDateTime(iso: string, exact = false): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : (exact ? exactFormat : defaultFormat).format(date);
}

interface DateTimeProps {
  readonly value: string | null;
  /** Shown if there is no timestamp. */
  readonly none?: string;
  /** Shows seconds. */
  readonly exact?: boolean;
}

export function DateTime({ value, none = '', exact = false }: DateTimeProps): ReactNode {
  if (value === null) return <span className="quiet">{none}</span>;
  return (
    <time dateTime={value} className="tabular nowrap">
      {formatDateTime(value, exact)}
    </time>
  );
}

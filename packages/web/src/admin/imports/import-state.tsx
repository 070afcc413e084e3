import type { ReactNode } from 'react';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { StateBadge } from '../access/badges.tsx';
import { type ImportRecord, type ImportStatus, isRunning } from './dto.ts';

const tones: Readonly<Record<ImportStatus, 'good' | 'bad' | 'careful' | 'plain'>> = {
  pending: 'plain',
  running: 'plain',
  done: 'good',
  failed: 'bad',
  cancelled: 'careful',
};

export function ImportStateBadge({ record }: { readonly record: ImportRecord }): ReactNode {
  const t = useImportTexts().run;
  return <StateBadge tone={tones[record.status]}>{t.statuses[record.status]}</StateBadge>;
}

/** How much of an import is done, in percent; null while the number of rows is not known. */
export function getProgress(record: ImportRecord): number | null {
  const { rows, processed } = record;
  if (!isRunning(record)) return 100;
  return rows === null || rows === 0 ? null : Math.min(100, (100 * processed) / rows);
}

import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { InboxView } from '../inbox-search.ts';
import { type LabelCount, useLabels } from './label-data.ts';

/** Labels that are shown before the user wants to see all of them. */
const shownAtFirst = 8;

/** One label of the pane of folders. */
export interface LabelViewEntry extends LabelCount {
  readonly view: InboxView;
}

interface LabelViewsProps {
  readonly current: string | undefined;
  /** @param showAll shows the labels that are left out; null if all are shown. */
  readonly render: (entries: readonly LabelViewEntry[], title: string, showAll: (() => void) | null) => ReactNode;
}

/** The labels in use; nothing without any. */
export function LabelViews({ current, render }: LabelViewsProps): ReactNode {
  const t = useInboxTexts().team;
  const [showsAll, setShowsAll] = useState(false);
  const labels = useLabels();
  if (labels.length === 0) return null;
  const shown = labels.filter(({ label }, index) => showsAll || index < shownAtFirst || label === current);
  const entries = shown.map((each) => ({ ...each, view: { folder: 'any', label: each.label } }));
  return render(entries, t.labels.title, shown.length < labels.length ? () => setShowsAll(true) : null);
}

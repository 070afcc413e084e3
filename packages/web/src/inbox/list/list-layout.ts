/** How the inbox is laid out, as the user has chosen it in this browser. */
import { ValueStore } from '../../ui/store.ts';

export const densities = ['comfortable', 'compact'] as const;
/** `left` and `top`: where the list is; `list`: the open conversation takes its place. */
export const splits = ['left', 'top', 'list'] as const;

export interface ListLayout {
  readonly density: (typeof densities)[number];
  readonly split: (typeof splits)[number];
}

const storageKey = 'tablinum.mail.layout';
const defaultLayout: ListLayout = { density: 'comfortable', split: 'left' };

/** The layout of all inboxes of this browser. */
export const listLayout = new ValueStore<ListLayout>(readLayout());

export function changeLayout(change: Partial<ListLayout>): void {
  const next = { ...listLayout.state, ...change };
  listLayout.set(next);
  try {
    localStorage.setItem(storageKey, JSON.stringify(next));
  } catch {
    // Without storage the choice is only valid until the page is reloaded.
  }
}

/** The height of a row in pixels. Compact rows have one line where the list is wide, and two in a narrow column. */
export function getRowHeight({ density, split }: ListLayout, isNarrow: boolean): number {
  if (density === 'comfortable') return 76;
  return isNarrow || split === 'left' ? 54 : 36;
}

function readLayout(): ListLayout {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Partial<ListLayout>;
    return {
      density: densities.find((each) => each === stored.density) ?? defaultLayout.density,
      split: splits.find((each) => each === stored.split) ?? defaultLayout.split,
    };
  } catch {
    return defaultLayout;
  }
}

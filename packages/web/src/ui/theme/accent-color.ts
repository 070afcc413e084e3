import { ValueStore } from '../store.ts';

/** The setting ACCENT_COLOR, such as `#7a3cc2`; null: it is not set, or not known yet. */
export const accentColor = new ValueStore<string | null>(null);

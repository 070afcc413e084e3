/** What the navigation of the shell lists, in its order. */
import type { Check } from '@tablinum/client';
import type { Texts } from '../ui/i18n/texts.tsx';
import type { IconName } from '../ui/icon.tsx';

export interface Section {
  readonly id: keyof Texts['shell']['sections'];
  readonly icon: IconName;
  /** Below `/a/<application>/`. */
  readonly path: string;
  /** The second key after `g`. */
  readonly key: string;
  /** Whether the navigation shows it; a page itself says where a role may not go. */
  readonly shown?: (check: Check) => boolean;
}

export const sections: readonly Section[] = [
  { id: 'inbox', icon: 'inbox', path: 'inbox', key: 'i' },
  { id: 'data', icon: 'table', path: 'data', key: 'd' },
  { id: 'diagram', icon: 'diagram', path: 'diagram', key: 'm' },
  { id: 'docs', icon: 'book', path: 'docs', key: 'p' },
];

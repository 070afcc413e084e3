/** The sections of the navigation, in their order. */
import type { CallerInfo } from '@tablinum/client';
import type { Schema } from '../data/schema.ts';
import { isServerAdmin } from '../data/server-admin.ts';
import type { Texts } from '../ui/i18n/texts.tsx';
import type { IconName } from '../ui/icon.tsx';

export interface Section {
  readonly id: keyof Texts['shell']['sections'];
  readonly icon: IconName;
  /** The path below `/a/<application>/`. */
  readonly path: string;
  /** The key that opens the section after `g`. */
  readonly key: string;
  /** The heading of its group. */
  readonly group?: keyof Texts['shell']['sections'];
  /** Whether the current role may use the section. The page itself also shows when it may not. */
  readonly isVisible?: (check: CallerInfo, schema: Schema) => boolean;
}

const mayList =
  (...resources: readonly string[]): NonNullable<Section['isVisible']> =>
  (_, schema) =>
    resources.every((resource) => schema.may(resource, 'list'));

const mayReadRevisions: NonNullable<Section['isVisible']> = (_, schema) => schema.may('schema', 'revisions');

export const sections: readonly Section[] = [
  { id: 'inbox', icon: 'inbox', path: 'inbox', key: 'i', isVisible: mayList('accounts', 'mailboxes', 'conversations') },
  { id: 'data', icon: 'table', path: 'data', key: 'd' },
  { id: 'imports', icon: 'upload', path: 'imports', key: 'l', isVisible: mayList('imports') },
  { id: 'diagram', icon: 'diagram', path: 'diagram', key: 'm' },
  { id: 'roles', icon: 'shield', path: 'access/roles', key: 'r', group: 'access', isVisible: mayList('roles') },
  { id: 'users', icon: 'users', path: 'access/users', key: 'u', group: 'access', isVisible: mayList('users') },
  { id: 'keys', icon: 'key', path: 'access/keys', key: 'k', group: 'access', isVisible: mayList('apiKeys') },
  {
    id: 'webhooks',
    icon: 'webhook',
    path: 'access/webhooks',
    key: 'w',
    group: 'access',
    isVisible: mayList('webhooks'),
  },
  {
    id: 'applications',
    icon: 'apps',
    path: 'access/applications',
    key: 'o',
    group: 'access',
    isVisible: isServerAdmin,
  },
  {
    id: 'settings',
    icon: 'settings',
    path: 'access/settings',
    key: 's',
    group: 'access',
    isVisible: isServerAdmin,
  },
  {
    id: 'backups',
    icon: 'archive',
    path: 'access/backups',
    key: 'b',
    group: 'access',
    isVisible: isServerAdmin,
  },
  { id: 'audit', icon: 'history', path: 'access/audit', key: 'j', group: 'access', isVisible: mayList('audit') },
  {
    id: 'activity',
    icon: 'monitor',
    path: 'access/activity',
    key: 'v',
    group: 'access',
    isVisible: isServerAdmin,
  },
  { id: 'schema', icon: 'diagram', path: 'access/schema', key: 'f', group: 'access', isVisible: mayReadRevisions },
  { id: 'docs', icon: 'book', path: 'docs', key: 'p', group: 'developers' },
];

/** The sections that the navigation and the palette show. Until the role is known, those that every role has. */
export function listVisibleSections(check: CallerInfo | undefined, schema: Schema | undefined): readonly Section[] {
  return sections.filter(({ isVisible }) => !isVisible || (check && schema && isVisible(check, schema)));
}

import { useNavigate, useSearch } from '@tanstack/react-router';
import { useApplication } from '../data/application.tsx';
import { type InboxSearch, type InboxView, parseInboxSearch } from './inbox-search.ts';

export interface InboxAddress {
  /** The list: account, folder, filters, search words. */
  readonly view: InboxView;
  /** The open conversation. */
  readonly opened: number | null;
  /** Another list, without an open conversation. */
  setView(next: InboxView): void;
  /** @param replace it takes the place of the one before in the browser's history. */
  open(conversation: number | null, replace?: boolean): void;
}

/** What the inbox shows stands in the address. */
export function useInboxAddress(): InboxAddress {
  const application = useApplication();
  const navigate = useNavigate();
  const { c: opened = null, ...view } = parseInboxSearch(useSearch({ strict: false }));
  const go = (search: InboxSearch, replace = false): void =>
    void navigate({ to: '/a/$app/inbox', params: { app: application }, search, replace });
  return {
    view,
    opened,
    setView: (next) => go(next),
    open: (conversation, replace) => go(conversation === null ? view : { ...view, c: conversation }, replace),
  };
}

import { useNavigate, useSearch } from '@tanstack/react-router';
import { useApplication } from '../data/application.tsx';
import { type InboxSearch, type InboxView, parseInboxSearch } from './inbox-search.ts';

export interface InboxAddress {
  /** The list: account, folder, filters and search text. */
  readonly view: InboxView;
  /** The open conversation. */
  readonly opened: number | null;
  /** Shows another list and closes the open conversation. */
  setView(next: InboxView): void;
  /** @param replace replaces the current entry of the browser history. */
  open(conversation: number | null, replace?: boolean): void;
}

/** Reads and changes the state of the inbox that is stored in the URL. */
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

import { useNavigate, useSearch } from '@tanstack/react-router';

/**
 * The search parameters of the URL, and a function that changes them. A change without a page goes to the first page.
 */
export function useListSearch<T extends { readonly page?: number }>(): readonly [T, (change: Partial<T>) => void] {
  const rawSearch: unknown = useSearch({ strict: false });
  const search = rawSearch as T;
  const navigate = useNavigate();
  const go = (change: Partial<T>): void => {
    const next = Object.entries({ ...search, page: undefined, ...change });
    const nextSearch = Object.fromEntries(
      next.filter(([, value]) => value !== undefined && value !== '' && value !== 0),
    );
    // An opened entry adds to the browser history, so that Back closes it; other changes replace the history entry.
    const isOpening = 'entry' in change && Boolean(change.entry);
    void navigate({ to: '.', search: nextSearch as never, replace: !isOpening });
  };
  return [search, go];
}

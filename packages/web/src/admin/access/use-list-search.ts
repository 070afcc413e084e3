import { useNavigate, useSearch } from '@tanstack/react-router';

/** The search of the page's address, and a step to another; a step that names no page goes to the first. */
export function useListSearch<T extends { readonly page?: number }>(): readonly [T, (change: Partial<T>) => void] {
  const rawSearch: unknown = useSearch({ strict: false });
  const search = rawSearch as T;
  const navigate = useNavigate();
  const go = (change: Partial<T>): void => {
    const next = Object.entries({ ...search, page: undefined, ...change });
    const nextSearch = Object.fromEntries(
      next.filter(([, value]) => value !== undefined && value !== '' && value !== 0),
    );
    // Back closes what was opened; other steps leave no trace.
    const isOpening = 'entry' in change && Boolean(change.entry);
    void navigate({ to: '.', search: nextSearch as never, replace: !isOpening });
  };
  return [search, go];
}

import type { StoredFile } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApiQuery } from '../../data/queries.ts';

/** Seconds for which the address of a file is signed, and for which it is used again. */
const addressSeconds = { signed: 3600, cached: 3000 };

/** An address of a file that works without a header, for `<img>`. */
export function useFileAddress({ id }: StoredFile, enabled = true): UseQueryResult<{ readonly url: string }, Error> {
  return useApiQuery(
    ['file-address', id],
    (client, signal) => client.files.sign(id, addressSeconds.signed, { signal }),
    { enabled, staleTime: 1000 * addressSeconds.cached },
  );
}

import type { StoredFile } from '@tablinum/client';
import { useClient } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { saveAddress } from '../../ui/save-file.ts';
import { toast } from '../../ui/toasts.tsx';

/** @returns a function that downloads a file. It shows an error as a toast. */
export function useFileDownload(): (file: StoredFile) => Promise<void> {
  const client = useClient();
  return async ({ id, name }) => {
    try {
      saveAddress((await client.files.sign(id)).url, name);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
}

/** Mutations of forms and buttons. After a write, the affected queries are invalidated. */
import { type Client, Failure } from '@tablinum/client';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { toast } from '../ui/toasts.tsx';
import { getClient, useApplication } from './application.tsx';
import { getValueMessage } from './problem.tsx';
import { invalidate } from './queries.ts';

interface ApiMutationOptions<Given, Result> {
  readonly write: (client: Client, given: Given) => Promise<Result>;
  /** The query keys that the write invalidates. */
  readonly changes: readonly string[];
  readonly done?: (result: Result, given: Given) => unknown;
}

/** A mutation of a form, which shows its error itself. */
export function useApiMutation<Result, Given = void>(
  options: ApiMutationOptions<Given, Result>,
): UseMutationResult<Result, Error, Given> {
  const application = useApplication();
  const { write, changes, done } = options;
  return useMutation({
    mutationFn: (given: Given) => write(getClient(application), given),
    onSuccess: async (result, given) => {
      await done?.(result, given);
      await Promise.all(changes.map((key) => invalidate(application, key)));
    },
    gcTime: 0, // responses may contain secrets
  });
}

/** A mutation of a button, whose error is shown in a toast. */
export function useActionMutation<Result, Given = void>(
  options: ApiMutationOptions<Given, Result>,
): (given: Given) => Promise<void> {
  const write = useApiMutation(options);
  return async (given) => {
    try {
      await write.mutateAsync(given);
    } catch (error) {
      toast(getValueMessage(error), { failed: true });
    }
  };
}

/** The error messages of a failure, by path in the request body. */
export function getErrorDetails(error: unknown): Readonly<Record<string, string>> {
  return error instanceof Failure ? error.details : {};
}

/** Trims a text; null if it is empty. */
export function emptyToNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

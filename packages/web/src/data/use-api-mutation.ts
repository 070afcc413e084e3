/** Writes of forms and buttons: sent, then what the lists keep of it is asked again. */
import { type Client, Failure } from '@tablinum/client';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { toast } from '../ui/toasts.tsx';
import { getClient, useApplication } from './application.tsx';
import { getErrorMessage } from './problem.tsx';
import { invalidate } from './queries.ts';

interface ApiMutationOptions<Given, Result> {
  readonly write: (client: Client, given: Given) => Promise<Result>;
  /** Keys under which pages keep what the write changes. */
  readonly changes: readonly string[];
  readonly done?: (result: Result, given: Given) => unknown;
}

/** A write of a form, which shows its failure itself. */
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
    gcTime: 0, // replies may hold secrets
  });
}

/** A write of a button, whose failure is told in the corner. */
export function useActionMutation<Result, Given = void>(
  options: ApiMutationOptions<Given, Result>,
): (given: Given) => Promise<void> {
  const write = useApiMutation(options);
  return async (given) => {
    try {
      await write.mutateAsync(given);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
}

/** What was refused, by the place in the body. */
export function getErrorDetails(error: unknown): Readonly<Record<string, string>> {
  return error instanceof Failure ? error.details : {};
}

/** An empty input stands for nothing. */
export function emptyToNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

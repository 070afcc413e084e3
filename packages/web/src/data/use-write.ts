/** Writes of forms and buttons: sent, then what the lists keep of it is asked again. */
import { type Client, Failure } from '@tablinum/client';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { toast } from '../ui/toasts.tsx';
import { clientOf, useApplication } from './application.tsx';
import { messageOf } from './problem.tsx';
import { forget } from './queries.ts';

interface WriteOptions<Given, Result> {
  readonly write: (client: Client, given: Given) => Promise<Result>;
  /** Keys under which pages keep what the write changes. */
  readonly changes: readonly string[];
  readonly done?: (result: Result, given: Given) => unknown;
}

/** A write of a form, which shows its failure itself. */
export function useWrite<Result, Given = void>(
  options: WriteOptions<Given, Result>,
): UseMutationResult<Result, Error, Given> {
  const application = useApplication();
  const { write, changes, done } = options;
  return useMutation({
    mutationFn: (given: Given) => write(clientOf(application), given),
    onSuccess: async (result, given) => {
      await done?.(result, given);
      await Promise.all(changes.map((key) => forget(application, key)));
    },
    gcTime: 0, // replies may hold secrets
  });
}

/** A write of a button, whose failure is told in the corner. */
export function useAct<Result, Given = void>(options: WriteOptions<Given, Result>): (given: Given) => Promise<void> {
  const write = useWrite(options);
  return async (given) => {
    try {
      await write.mutateAsync(given);
    } catch (error) {
      toast(messageOf(error), { failed: true });
    }
  };
}

/** What was refused, by the place in the body. */
export function detailsOf(error: unknown): Readonly<Record<string, string>> {
  return error instanceof Failure ? error.details : {};
}

/** An empty input stands for nothing. */
export function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

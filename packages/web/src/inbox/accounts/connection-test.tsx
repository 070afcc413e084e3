import { Alert, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import type { AccountRecord } from './account-data.ts';
import { type AccountDraft, toTestedValues } from './account-draft.ts';

/** The result for one of the servers; null if there is none. */
interface TestedServer {
  readonly ok: boolean;
  readonly problem: { readonly message: string; readonly cure: string } | null;
}

interface TestResult {
  readonly imap: TestedServer | null;
  readonly smtp: TestedServer | null;
}

/** Signs in to both servers with what the form contains, and says what does not work and what helps. */
export function ConnectionTest({ account, draft }: { account: AccountRecord | null; draft: AccountDraft }): ReactNode {
  const t = useInboxTexts().accounts;
  const test = useApiMutation<TestResult, Record<string, unknown>>({
    write: (client, values) =>
      client.post<TestResult>('accounts:test', values, account ? { filterByTk: account.id } : {}),
    changes: [],
  });
  const hasServer = draft.imap.host.trim() !== '' || draft.smtp.host.trim() !== '';
  const values = toTestedValues(draft);
  // The result of other settings says nothing about these.
  const isCurrent = JSON.stringify(test.variables) === JSON.stringify(values);
  const result = test.data ?? toRefusedSettings(test.error);
  return (
    <Stack gap="xs" align="flex-start">
      <PendingButton
        variant="default"
        disabled={!hasServer}
        pending={test.isPending}
        onClick={() => test.mutate(values)}
      >
        {t.test.run}
      </PendingButton>
      {isCurrent && (
        <>
          {!result && <FormProblem error={test.error} />}
          <ServerResult name={t.imap} result={result?.imap ?? null} />
          <ServerResult name={t.smtp} result={result?.smtp ?? null} />
        </>
      )}
    </Stack>
  );
}

/** The result for settings that the server refuses to try; null after another error. */
function toRefusedSettings(error: unknown): TestResult | null {
  const details = Object.entries(getErrorDetails(error));
  const findSide = (side: 'imap' | 'smtp'): TestedServer | null => {
    const messages = details.filter(([path]) => path.split('.')[0] === side).map(([, message]) => message);
    return messages.length === 0 ? null : { ok: false, problem: { message: messages.join(' '), cure: '' } };
  };
  const result = { imap: findSide('imap'), smtp: findSide('smtp') };
  return result.imap || result.smtp ? result : null;
}

function ServerResult({ name, result }: { name: string; result: TestedServer | null }): ReactNode {
  const t = useInboxTexts().accounts.test;
  if (result === null) return null;
  return (
    <Alert
      {...(!result.ok && { color: 'red' })}
      variant="light"
      w="100%"
      icon={<Icon name={result.ok ? 'check' : 'warning'} />}
      title={`${name}: ${result.ok ? t.passed : t.failed}`}
      role="status"
    >
      {result.problem && (
        <Stack gap={4}>
          <Text size="sm">{result.problem.message}</Text>
          {result.problem.cure !== '' && <Text size="sm">{result.problem.cure}</Text>}
        </Stack>
      )}
    </Alert>
  );
}

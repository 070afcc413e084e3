import { Button, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Section } from '../../data/section.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { type LoggedProblem, useProblemLog } from './account-data.ts';

/** The server stores at most this number of problems of an account. */
const maxProblems = 100;
const firstProblems = 20;

/** The newest problems with the mail servers of an account. Nothing is shown if there were none. */
export function ProblemLog({ account }: { account: number }): ReactNode {
  const t = useInboxTexts().accounts.synchronisation;
  const [pageSize, setPageSize] = useState(firstProblems);
  const { data: problems = [] } = useProblemLog(account, pageSize);
  if (problems.length === 0) return null;
  return (
    <Section title={t.log} text={t.logText}>
      <ListTable<LoggedProblem>
        label={t.log}
        rows={problems}
        keyOf={({ id }) => id}
        columns={[
          { title: t.logColumns.at, render: ({ at }) => <DateTime value={at} exact /> },
          {
            title: t.logColumns.problem,
            render: ({ message, cure }) => (
              <LongText width={260}>
                {message}{' '}
                <Text size="sm" c="dimmed" span>
                  {cure}
                </Text>
              </LongText>
            ),
          },
          { title: t.logColumns.count, number: true, render: ({ count }) => count.toLocaleString() },
        ]}
      />
      {pageSize < maxProblems && problems.length === pageSize && (
        <Button variant="default" size="compact-sm" mt="xs" onClick={() => setPageSize(maxProblems)}>
          {t.logOlder}
        </Button>
      )}
    </Section>
  );
}

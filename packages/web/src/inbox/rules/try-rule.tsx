import { Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { ListTable } from '../../ui/list-table.tsx';
import type { RuleMatches } from './rule-data.ts';
import { type ActionType, type RuleDraft, toRuleValues } from './rule-types.ts';

interface TryRuleProps {
  readonly account: number;
  readonly draft: RuleDraft;
}

/** Tries a rule on existing messages: a list of those that it matches, with what would happen. Nothing is changed. */
export function TryRule({ account, draft }: TryRuleProps): ReactNode {
  const t = useInboxTexts().rules;
  const [found, setFound] = useState<RuleMatches | null>(null);
  const attempt = useApiMutation<RuleMatches, RuleMatches | null>({
    write: (client, before) => {
      const { name: _, stop: __, ...rule } = toRuleValues(draft);
      return client.post('mailRules:try', { account, rule, cursor: before?.nextCursor ?? null });
    },
    changes: [],
    done: (page, before) =>
      setFound({
        ...page,
        emails: [...(before?.emails ?? []), ...page.emails],
        scanned: (before?.scanned ?? 0) + page.scanned,
      }),
  });
  return (
    <Stack gap="xs" aria-live="polite">
      <Group>
        <Button variant="default" loading={attempt.isPending} onClick={() => attempt.mutate(null)}>
          {t.try}
        </Button>
        <Text size="sm" c="dimmed">
          {found ? t.tried(found.emails.length, found.scanned) : t.tryHint}
        </Text>
      </Group>
      <FormProblem error={attempt.error} />
      {found && found.emails.length > 0 && <MatchTable emails={found.emails} />}
      {found?.nextCursor != null && (
        <Group>
          <Button variant="subtle" size="compact-sm" loading={attempt.isPending} onClick={() => attempt.mutate(found)}>
            {t.tryMore}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function MatchTable({ emails }: Pick<RuleMatches, 'emails'>): ReactNode {
  const t = useInboxTexts().rules;
  return (
    <ListTable<RuleMatches['emails'][number]>
      label={t.matching}
      rows={emails}
      keyOf={({ id }) => id}
      columns={[
        { title: t.columns.from, render: ({ from }) => from?.[0]?.name || from?.[0]?.address || '' },
        { title: t.columns.subject, render: ({ subject }) => subject },
        { title: t.columns.received, render: ({ receivedAt }) => receivedAt && <DateTime value={receivedAt} /> },
        {
          title: t.columns.effects,
          render: ({ effects }) =>
            effects.length === 0
              ? t.noEffect
              : effects.map(({ type, refusal }) => (refusal ? t.noReply : t.actions[type as ActionType])).join(', '),
        },
      ]}
    />
  );
}

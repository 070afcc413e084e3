import { Button, Checkbox, Group, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { Section } from '../../data/section.tsx';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type AccountRecord, accountKeys } from '../accounts/account-data.ts';
import { ReplyText } from './reply-text.tsx';

/** The automatic reply of an account while its owner is away. */
export interface Vacation {
  readonly enabled: boolean;
  /** ISO 8601. */
  readonly from: string | null;
  readonly until: string | null;
  readonly subject: string | null;
  readonly text: string;
  readonly html: string | null;
  readonly knownSendersOnly: boolean;
}

interface VacationSectionProps {
  readonly account: AccountRecord & { readonly vacation?: Vacation | null };
}

const noVacation: Vacation = {
  enabled: false,
  from: null,
  until: null,
  subject: null,
  text: '',
  html: null,
  knownSendersOnly: false,
};

/** The form of the vacation reply. */
export function VacationSection({ account }: VacationSectionProps): ReactNode {
  const texts = useTexts().common;
  const t = useInboxTexts().rules.vacation;
  const [draft, setDraft] = useState<Vacation>(account.vacation ?? noVacation);
  const change = (part: Partial<Vacation>): void => setDraft((before) => ({ ...before, ...part }));
  const save = useApiMutation({
    write: (client) => {
      const vacation = { ...draft, subject: emptyToNull(draft.subject ?? '') };
      return client.post('accounts:update', { vacation }, { filterByTk: account.id });
    },
    changes: accountKeys,
    done: () => toast(t.saved),
  });
  const problems = getErrorDetails(save.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Section title={t.title} text={t.text} needs={{ resource: 'accounts', action: 'update' }}>
      <form onSubmit={submit} aria-label={t.title}>
        <Stack gap="sm" maw={720}>
          <Switch
            label={t.enabled}
            checked={draft.enabled}
            onChange={(event) => change({ enabled: event.currentTarget.checked })}
          />
          <VacationTimes draft={draft} change={change} problems={problems} />
          <VacationMessage draft={draft} change={change} problems={problems} />
          <Checkbox
            label={t.knownSendersOnly}
            checked={draft.knownSendersOnly}
            onChange={(event) => change({ knownSendersOnly: event.currentTarget.checked })}
          />
          <FormProblem error={save.error} />
          <Group>
            <Button type="submit" loading={save.isPending}>
              {texts.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

interface PartProps {
  readonly draft: Vacation;
  readonly change: (part: Partial<Vacation>) => void;
  /** Error messages by path in the request body, such as `vacation.until`. */
  readonly problems: Readonly<Record<string, string>>;
}

function VacationTimes({ draft, change, problems }: PartProps): ReactNode {
  const t = useInboxTexts().rules.vacation;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      {(['from', 'until'] as const).map((name) => (
        <TextInput
          key={name}
          type="datetime-local"
          label={t[name]}
          description={t.optional}
          value={toLocalInput(draft[name])}
          onChange={(event) => change({ [name]: fromLocalInput(event.currentTarget.value) })}
          error={problems[`vacation.${name}`]}
        />
      ))}
    </SimpleGrid>
  );
}

function VacationMessage({ draft, change, problems }: PartProps): ReactNode {
  const t = useInboxTexts().rules.vacation;
  return (
    <>
      <TextInput
        label={t.subject}
        placeholder={t.subjectExample}
        value={draft.subject ?? ''}
        onChange={(event) => change({ subject: event.currentTarget.value })}
        maxLength={500}
        error={problems['vacation.subject']}
      />
      <ReplyText label={t.message} reply={draft} change={change} required error={problems['vacation.text']} />
    </>
  );
}

/** A timestamp as an input of type `datetime-local` takes it: local time, to the minute. */
function toLocalInput(iso: string | null): string {
  if (iso === null) return '';
  const time = new Date(iso);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function fromLocalInput(text: string): string | null {
  const time = new Date(text);
  return text === '' || Number.isNaN(time.getTime()) ? null : time.toISOString();
}

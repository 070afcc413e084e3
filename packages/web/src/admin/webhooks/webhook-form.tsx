/** The form of a webhook: its URL, events, filter and role. */
import { Button, Group, Select, Stack, TagsInput, Text, TextInput, Title } from '@mantine/core';
import type { Collection, Filter } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { useCheck } from '../../data/queries.ts';
import { useSchema } from '../../data/schema.ts';
import { getErrorDetails } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { useRoleOptions, useVisibleRoles } from '../access/access-queries.ts';
import type { Webhook } from '../access/dto.ts';
import { emptyCollection, useFilterDraft } from '../filter/filter-draft.ts';
import { FilterEditor } from '../filter/filter-editor.tsx';

const verbs = ['*', 'created', 'updated', 'destroyed', 'restored'];

export interface WebhookValues {
  readonly url: string;
  readonly events: readonly string[];
  readonly role: string;
  readonly filter: Filter | null;
}

interface WebhookFormProps {
  /** Null for a new one. */
  readonly webhook: Webhook | null;
  readonly save: (values: WebhookValues) => void;
  readonly saving: boolean;
  readonly error: unknown;
}

export function WebhookForm({ webhook, save, saving, error }: WebhookFormProps): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.webhooks;
  const { data: schema } = useSchema();
  const roles = useVisibleRoles();
  const { data: check } = useCheck();
  const [values, setValues] = useState({
    url: webhook?.url ?? '',
    events: webhook?.events ?? [],
    role: webhook?.role ?? check?.currentRole ?? '',
  });
  const collection = findSingleCollection(values.events, schema?.byName);
  const [unfinished, setUnfinished] = useState(false);
  const filter = useFilterDraft(collection ?? emptyCollection, webhook?.filter ?? undefined);
  const problems = getErrorDetails(error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const rows = collection ? filter.parseComplete() : undefined;
    setUnfinished(rows === null);
    if (rows !== null) save({ ...values, filter: rows ?? null });
  };
  const offered = (schema?.collections ?? []).flatMap(({ name }) => verbs.map((verb) => `${name}.${verb}`));
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" maw={640}>
        <TextInput
          label={labels.url}
          description={labels.urlHint}
          type="url"
          value={values.url}
          onChange={(event) => setValues({ ...values, url: event.currentTarget.value })}
          error={problems['url']}
          required
        />
        <TagsInput
          label={labels.events}
          description={labels.eventsHint}
          data={['*', ...offered]}
          value={[...values.events]}
          onChange={(events) => setValues({ ...values, events })}
          error={problems['events']}
          limit={20}
          required
        />
        <Select
          label={labels.role}
          description={labels.roleHint}
          data={useRoleOptions(roles?.map((role) => role.name) ?? check?.roles ?? [])}
          value={values.role || null}
          onChange={(role) => setValues({ ...values, role: role ?? '' })}
          error={problems['role']}
          searchable
          required
        />
        <Stack gap="xs" component="section">
          <Title order={3}>{labels.filter}</Title>
          {collection ? (
            <FilterEditor draft={filter} none={labels.filterAll} />
          ) : (
            <Text size="sm" c="dimmed">
              {labels.filterOne}
            </Text>
          )}
        </Stack>
        <FormProblem error={unfinished ? new Error(access.rule.badFilter) : error} />
        <Group>
          <Button type="submit" loading={saving}>
            {webhook ? t.common.save : t.common.create}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The collection of all events, if they belong to exactly one; else null. */
function findSingleCollection(
  events: readonly string[],
  collectionsByName: ReadonlyMap<string, Collection> | undefined,
): Collection | null {
  const names = new Set(events.map((each) => each.replace(/\..*$/s, '')));
  const [only] = names.size === 1 ? names : [];
  return (only !== undefined && collectionsByName?.get(only)) || null;
}

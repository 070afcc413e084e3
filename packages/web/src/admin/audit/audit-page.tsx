import { Alert, Button, Group, Modal, Select, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { Actor } from '../../data/actor.tsx';
import { ListPage } from '../../data/list-page.tsx';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { SearchInput } from '../../ui/search-input.tsx';
import { useRoleTitle } from '../access/access-queries.ts';
import { StateBadge } from '../access/badges.tsx';
import type { AuditEntry, JournalReport } from '../access/dto.ts';
import type { AuditSearch } from '../access/list-search.ts';
import { useListSearch } from '../access/use-list-search.ts';
import { buildAuditFilter } from './audit-filter.ts';

const pageSize = 50;

interface SearchProps {
  readonly search: AuditSearch;
  readonly go: (change: Partial<AuditSearch>) => void;
}

/** The audit journal, with filters for actor, action, outcome and time. */
export function AuditPage(): ReactNode {
  const t = useAccessTexts().audit;
  const may = useMay();
  const roleTitle = useRoleTitle();
  const [search, go] = useListSearch<AuditSearch>();
  const { entry, page = 1, ...filters } = search;
  const entries = useApiQuery(
    ['audit', 'list', filters, page],
    (client, signal) =>
      client
        .records<AuditEntry>('audit')
        .list({ filter: buildAuditFilter(filters), sort: ['-id'], page, pageSize }, { signal }),
    { keepPreviousData: true, staleTime: 0 },
  );
  const verify = useApiMutation({
    write: async (client) => (await client.call<JournalReport>('audit:verify')).data,
    changes: [],
  });
  const actions = may('audit', 'verify') && (
    <Button
      variant="default"
      leftSection={<Icon name="shield" />}
      loading={verify.isPending}
      onClick={() => verify.mutate()}
    >
      {t.verify}
    </Button>
  );
  const clear = (
    <Button variant="default" onClick={() => go({ actor: '', action: '', outcome: '', from: '', to: '' })}>
      {t.clear}
    </Button>
  );
  return (
    <ListPage
      title={t.title}
      description={t.description}
      resource="audit"
      query={entries}
      actions={actions}
      filters={
        <>
          {verify.data && <VerificationResult report={verify.data} />}
          <FormProblem error={verify.error} />
          <Filters search={search} go={go} />
        </>
      }
      empty={{ icon: 'history', title: t.emptyTitle, text: t.emptyText, next: clear }}
      go={(next) => go({ page: next })}
      keyOf={(each) => each.id}
      columns={[
        { title: t.at, render: (each) => <DateTime value={each.at} exact /> },
        { title: t.actor, render: (each) => (each.actor ? <Actor actor={each.actor} /> : t.anyone) },
        { title: t.action, render: (each) => <span className="code">{each.action}</span> },
        { title: t.target, render: (each) => each.target },
        { title: t.outcome, render: (each) => <Outcome entry={each} /> },
        { title: t.role, render: (each) => each.role && roleTitle(each.role) },
        {
          title: '',
          width: 50,
          render: (each) => (
            <IconButton icon="eye" size="md" label={t.open(each.id)} onClick={() => go({ entry: each.id, page })} />
          ),
        },
      ]}
    >
      <Modal opened={entry !== undefined} onClose={() => go({ entry: 0, page })} size="lg" title={t.entry(entry ?? 0)}>
        {entry !== undefined && <Entry id={entry} />}
      </Modal>
    </ListPage>
  );
}

function VerificationResult({ report }: { report: JournalReport }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const { valid, invalid } = access.audit;
  return (
    <Alert
      color={report.valid ? 'green' : 'red'}
      variant="light"
      role="status"
      icon={<Icon name={report.valid ? 'check' : 'warning'} />}
    >
      {report.valid ? valid(t.common.count(report.entries)) : invalid(report.firstBroken)}
    </Alert>
  );
}

function Filters({ search, go }: SearchProps): ReactNode {
  const t = useAccessTexts().audit;
  return (
    <Group gap="xs" align="flex-end">
      <SearchInput
        label={t.actor}
        placeholder={t.actorHint}
        text={search.actor ?? ''}
        go={(actor) => go({ actor })}
        w={170}
      />
      <SearchInput
        label={t.action}
        placeholder={t.actionHint}
        text={search.action ?? ''}
        go={(action) => go({ action })}
        w={190}
      />
      <Select
        label={t.outcome}
        placeholder={t.anyOutcome}
        data={Object.entries(t.outcomes).map(([value, label]) => ({ value, label }))}
        value={search.outcome ?? null}
        onChange={(outcome) => go({ outcome: outcome ?? '' })}
        clearable
        w={150}
      />
      <TextInput
        type="date"
        label={t.from}
        value={search.from ?? ''}
        onChange={(event) => go({ from: event.currentTarget.value })}
        w={150}
      />
      <TextInput
        type="date"
        label={t.to}
        value={search.to ?? ''}
        onChange={(event) => go({ to: event.currentTarget.value })}
        w={150}
      />
    </Group>
  );
}

function Outcome({ entry: { outcome, code, count } }: { entry: AuditEntry }): ReactNode {
  const { outcomes } = useAccessTexts().audit;
  return (
    <Group gap={6} wrap="nowrap">
      <StateBadge tone={outcome === 'done' ? 'good' : 'bad'}>{outcomes[outcome] ?? outcome}</StateBadge>
      {code && <span className="quiet">{code}</span>}
      {count > 1 && <span className="quiet tabular">×{count}</span>}
    </Group>
  );
}

/** The title of the role, and its name where the two differ, because the entry contains the name. */
function appendName(title: string, name: string): string {
  return title === name ? name : `${title} (${name})`;
}

function Entry({ id }: { id: number }): ReactNode {
  const t = useAccessTexts().audit;
  const roleTitle = useRoleTitle();
  const entry = useApiQuery(['audit', 'one', id], (client, signal) =>
    client.records<AuditEntry>('audit').get(id, {}, { signal }),
  );
  return (
    <QueryBoundary query={entry} permission={{ resource: 'audit', action: 'get' }}>
      {(data) => (
        <DescriptionList
          items={[
            [t.at, <DateTime key="at" value={data.at} exact />],
            [t.actor, data.actor ? <Actor key="actor" actor={data.actor} /> : t.anyone],
            [t.credential, data.credential ? `${data.credential.type} ${data.credential.id}` : '–'],
            [t.role, data.role ? appendName(roleTitle(data.role), data.role) : '–'],
            [t.action, data.action],
            [t.target, data.target ?? '–'],
            [t.outcome, <Outcome key="outcome" entry={data} />],
            [t.address, data.address ?? '–'],
            [t.requestId, data.requestId ?? '–'],
            [
              t.hash,
              <span key="hash" className="code">
                {data.hash}
              </span>,
            ],
          ]}
        />
      )}
    </QueryBoundary>
  );
}

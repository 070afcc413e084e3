import { Alert, Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import type { List } from '@tablinum/client';
import type { ReactNode } from 'react';
import { Asked, FormProblem } from '../../data/problem.tsx';
import { useAsked } from '../../data/queries.ts';
import { useWrite } from '../../data/use-write.ts';
import { Facts } from '../../ui/facts.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Moment } from '../../ui/moment.tsx';
import { Page } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Empty } from '../../ui/states.tsx';
import { StateBadge } from '../access/badges.tsx';
import type { AuditSearch } from '../access/list-search.ts';
import { SearchInput } from '../access/search-input.tsx';
import { useListSearch } from '../access/use-list-search.ts';
import type { AuditEntry, JournalReport } from '../access/wire.ts';
import { auditFilter } from './audit-filter.ts';

const pageSize = 50;

interface SearchProps {
  readonly search: AuditSearch;
  readonly go: (change: Partial<AuditSearch>) => void;
}

/** Who did what: found by person, action, outcome and time. */
export function AuditPage(): ReactNode {
  const t = useTexts().access.audit;
  const [search, go] = useListSearch<AuditSearch>();
  const { entry, page = 1, ...asked } = search;
  const entries = useAsked(
    ['audit', 'list', asked, page],
    (client, signal) =>
      client
        .records<AuditEntry>('audit')
        .list({ filter: auditFilter(asked), sort: ['-id'], page, pageSize }, { signal }),
    { keepPrevious: true, staleTime: 0 },
  );
  const verify = useWrite({
    write: async (client) => (await client.call<JournalReport>('audit:verify')).data,
    changes: [],
  });
  const actions = (
    <Button
      variant="default"
      leftSection={<Icon name="shield" />}
      loading={verify.isPending}
      onClick={() => verify.mutate()}
    >
      {t.verify}
    </Button>
  );
  return (
    <Page title={t.title} description={t.description} actions={actions}>
      <Stack>
        {verify.data && <Verdict report={verify.data} />}
        <FormProblem error={verify.error} />
        <Filters search={search} go={go} />
        <Asked query={entries} asked={{ resource: 'audit', action: 'list' }}>
          {(list) => <Found list={list} go={go} page={page} />}
        </Asked>
      </Stack>
      <Modal opened={entry !== undefined} onClose={() => go({ entry: 0, page })} size="lg" title={t.entry(entry ?? 0)}>
        {entry !== undefined && <Entry id={entry} />}
      </Modal>
    </Page>
  );
}

function Verdict({ report }: { report: JournalReport }): ReactNode {
  const t = useTexts();
  const { valid, invalid } = t.access.audit;
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
  const t = useTexts().access.audit;
  return (
    <Group gap="xs" align="flex-end">
      <SearchInput
        key={search.actor ? 'actor' : 'nobody'}
        label={t.actor}
        placeholder={t.actorHint}
        text={search.actor ?? ''}
        go={(actor) => go({ actor })}
        w={170}
      />
      <SearchInput
        key={search.action ? 'action' : 'none'}
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

function Found({ list, go, page }: { list: List<AuditEntry>; go: SearchProps['go']; page: number }): ReactNode {
  const t = useTexts().access.audit;
  const { data, meta } = list;
  if (data.length === 0)
    return (
      <Empty icon="history" title={t.emptyTitle} text={t.emptyText}>
        <Button variant="default" onClick={() => go({ actor: '', action: '', outcome: '', from: '', to: '' })}>
          {t.clear}
        </Button>
      </Empty>
    );
  return (
    <>
      <EntryTable entries={data} open={(entry) => go({ entry, page })} />
      <Pager
        page={meta.page ?? 1}
        totalPage={meta.totalPage ?? 1}
        count={meta.count ?? data.length}
        go={(next) => go({ page: next })}
      />
    </>
  );
}

function EntryTable({ entries, open }: { entries: readonly AuditEntry[]; open: (id: number) => void }): ReactNode {
  const t = useTexts().access.audit;
  return (
    <ListTable
      label={t.title}
      rows={entries}
      keyOf={(entry) => entry.id}
      columns={[
        { title: t.at, show: (entry) => <Moment at={entry.at} exact /> },
        { title: t.actor, show: (entry) => entry.actor ?? t.anyone },
        { title: t.action, show: (entry) => <span className="code">{entry.action}</span> },
        { title: t.target, show: (entry) => entry.target },
        { title: t.outcome, show: (entry) => <Outcome entry={entry} /> },
        { title: t.role, show: (entry) => entry.role },
        {
          title: '',
          width: 50,
          show: (entry) => <IconButton icon="eye" size="md" label={t.open(entry.id)} onClick={() => open(entry.id)} />,
        },
      ]}
    />
  );
}

function Outcome({ entry: { outcome, code, count } }: { entry: AuditEntry }): ReactNode {
  const { outcomes } = useTexts().access.audit;
  return (
    <Group gap={6} wrap="nowrap">
      <StateBadge tone={outcome === 'done' ? 'good' : 'bad'}>{outcomes[outcome] ?? outcome}</StateBadge>
      {code && <span className="quiet">{code}</span>}
      {count > 1 && <span className="quiet tabular">×{count}</span>}
    </Group>
  );
}

function Entry({ id }: { id: number }): ReactNode {
  const t = useTexts().access.audit;
  const entry = useAsked(['audit', 'one', id], (client, signal) =>
    client.records<AuditEntry>('audit').get(id, {}, { signal }),
  );
  return (
    <Asked query={entry} asked={{ resource: 'audit', action: 'get' }}>
      {(data) => (
        <Facts
          facts={[
            [t.at, <Moment key="at" at={data.at} exact />],
            [t.actor, data.actor ?? t.anyone],
            [t.credential, data.credential ? `${data.credential.type} ${data.credential.id}` : '–'],
            [t.role, data.role ?? '–'],
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
    </Asked>
  );
}

import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery, useCheck } from '../../data/queries.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Page } from '../../ui/page.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { Empty } from '../../ui/states.tsx';
import { readAccounts } from '../read-accounts.ts';
import { ReportChart } from './report-chart.tsx';
import { writeReportCsv } from './report-csv.ts';
import { type Grouping, groupings, isValidPeriod, type Period, type Report, useReport } from './report-data.ts';
import { writeReportPicture } from './report-picture.ts';
import type { ReportRow } from './report-rows.ts';

const dayMilliseconds = 86_400_000;
const formatDay = (time: number): string => {
  const date = new Date(time);
  const pad = (number: number): string => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
};

/** Conversations of a period: how many arrived, and how fast they were answered and closed. */
export function ReportsPage(): ReactNode {
  const t = useInboxTexts();
  const app = useApplication();
  const [period, setPeriod] = useState<Period>(() => ({
    from: formatDay(Date.now() - 29 * dayMilliseconds),
    to: formatDay(Date.now()),
  }));
  const [grouping, setGrouping] = useState<Grouping>('day');
  const report = useReport(period, grouping);
  const isValid = isValidPeriod(period);
  const above = (
    <TextLink to="/a/$app/inbox" params={{ app }}>
      {t.accounts.backToInbox}
    </TextLink>
  );
  return (
    <Page title={t.reports.title} description={t.reports.description} above={above}>
      <Stack>
        <Group align="flex-start">
          <TextInput
            type="date"
            label={t.reports.from}
            value={period.from}
            error={!isValid && t.reports.invalid}
            onChange={({ currentTarget: { value } }) => setPeriod({ ...period, from: value })}
          />
          <TextInput
            type="date"
            label={t.reports.to}
            value={period.to}
            onChange={({ currentTarget: { value } }) => setPeriod({ ...period, to: value })}
          />
          <Select
            label={t.reports.by}
            data={groupings.map((value) => ({ value, label: t.reports.groups[value] }))}
            value={grouping}
            onChange={(value) => setGrouping((value ?? 'day') as Grouping)}
            allowDeselect={false}
            {...(grouping === 'label' && {
              description: t.reports.labelHint,
              inputWrapperOrder: ['label', 'input', 'description'],
            })}
          />
        </Group>
        {isValid && (
          <QueryBoundary query={report} permission={{ resource: 'conversations', action: 'query' }}>
            {(found) => <ReportResult {...{ report: found, period, grouping }} />}
          </QueryBoundary>
        )}
      </Stack>
    </Page>
  );
}

interface ReportResultProps {
  readonly report: Report;
  readonly period: Period;
  readonly grouping: Grouping;
}

function ReportResult({ report: { rows, total }, period, grouping }: ReportResultProps): ReactNode {
  const t = useInboxTexts().reports;
  const chart = useRef<SVGSVGElement>(null);
  const nameGroup = useGroupNames(grouping);
  if (rows.length === 0) return <Empty icon="info" title={t.none} text={t.noneText} />;
  const formatDuration = (seconds: number | null): string => (seconds === null ? t.noValue : t.duration(seconds));
  const filename = `reports ${period.from} ${period.to} ${grouping}`;
  const saveCsv = (): void => {
    const { columns } = t;
    const head = [
      t.groups[grouping],
      columns.received,
      columns.answered,
      columns.response,
      columns.closed,
      columns.resolution,
    ];
    const lines = rows.map((row) => [
      nameGroup(row),
      row.received,
      row.answered,
      row.response,
      row.closed,
      row.resolution,
    ]);
    saveFile(new Blob(['\ufeff', writeReportCsv([head, ...lines])], { type: 'text/csv' }), `${filename}.csv`);
  };
  const savePicture = (): void => {
    if (chart.current)
      saveFile(new Blob([writeReportPicture(chart.current)], { type: 'image/svg+xml' }), `${filename}.svg`);
  };
  return (
    <Stack>
      <Group gap="xl">
        <Figure label={t.figures.received} value={t.count(total.received)} />
        <Figure label={t.figures.response} value={formatDuration(total.response)} />
        <Figure label={t.figures.resolution} value={formatDuration(total.resolution)} />
      </Group>
      <ReportChart
        ref={chart}
        title={t.chart}
        bars={rows.map((row) => ({ label: nameGroup(row), value: row.received, text: t.count(row.received) }))}
      />
      <Group>
        <Button variant="default" leftSection={<Icon name="arrowDown" />} onClick={saveCsv}>
          {t.csv}
        </Button>
        <Button variant="default" leftSection={<Icon name="arrowDown" />} onClick={savePicture}>
          {t.picture}
        </Button>
      </Group>
      <ListTable<ReportRow>
        label={t.title}
        rows={rows}
        keyOf={({ group }) => String(group)}
        columns={[
          { title: t.groups[grouping], render: (row) => <LongText width={160}>{nameGroup(row)}</LongText> },
          { title: t.columns.received, number: true, render: ({ received }) => t.count(received) },
          { title: t.columns.answered, number: true, render: ({ answered }) => t.count(answered) },
          { title: t.columns.response, number: true, render: ({ response }) => formatDuration(response) },
          { title: t.columns.closed, number: true, render: ({ closed }) => t.count(closed) },
          { title: t.columns.resolution, number: true, render: ({ resolution }) => formatDuration(resolution) },
        ]}
      />
    </Stack>
  );
}

function Figure({ label, value }: { readonly label: string; readonly value: string }): ReactNode {
  return (
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={600} className="tabular">
        {value}
      </Text>
    </div>
  );
}

/** Returns the name of the group of a row: a period, the address of an account, or the name of a member. */
function useGroupNames(grouping: Grouping): (row: ReportRow) => string {
  const t = useInboxTexts().reports;
  const { data: caller } = useCheck();
  const { data: accounts = [] } = useApiQuery(
    ['mail-accounts', 'of reports'],
    async (client) => (caller ? (await readAccounts(client, caller)).ownAccounts : []),
    { enabled: caller !== undefined && (grouping === 'account' || grouping === 'member') },
  );
  const { data: members = [] } = useApiQuery(
    ['mail-member-names', 'of reports', accounts.map(({ id }) => id)],
    async (client) => (await Promise.all(accounts.map(({ id }) => client.mailAccounts.members(id)))).flat(),
    { enabled: grouping === 'member' && accounts.length > 0 },
  );
  return ({ group }) => {
    if (group === null) return grouping === 'label' ? t.noLabel : t.nobody;
    if (grouping === 'account')
      return accounts.find(({ id }) => id === Number(group))?.address ?? t.account(Number(group));
    if (grouping === 'member') return members.find(({ id }) => id === Number(group))?.name ?? t.user(Number(group));
    return String(group);
  };
}

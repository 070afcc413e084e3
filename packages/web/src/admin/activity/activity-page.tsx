import { Alert, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useActivityTexts } from '../../ui/i18n/activity-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { type ActivityMinute, formatDuration, jobCounts, type ServerActivity } from './activity-data.ts';
import { MinuteChart } from './minute-chart.tsx';

const colors = { served: '#0f766e', refused: '#d97706', failed: '#dc2626' } as const;
/** Milliseconds between two readings. */
const refresh = 10_000;

/** What this server did in the last hour, for administrators. */
export function ActivityPage(): ReactNode {
  const t = useActivityTexts();
  const activity = useApiQuery(
    ['server-activity'],
    async (client) => (await client.call<ServerActivity>('serverActivity:get')).data,
    { refetchInterval: refresh, staleTime: 0 },
  );
  return (
    <Page title={t.title} description={t.description}>
      <QueryBoundary query={activity} permission={{ resource: 'serverActivity', action: 'get' }}>
        {(data) => <Activity activity={data} />}
      </QueryBoundary>
    </Page>
  );
}

function Activity({ activity }: { activity: ServerActivity }): ReactNode {
  const t = useActivityTexts();
  return (
    <Stack gap="xl" maw={960}>
      {activity.problems.map(({ source, message }) => (
        <Alert key={source} color="red" variant="light" icon={<Icon name="warning" />} title={t.problems}>
          {message}
        </Alert>
      ))}
      <Facts activity={activity} />
      <Charts minutes={activity.minutes} />
      <Actions activity={activity} />
      <SlowRequests activity={activity} />
      <Jobs activity={activity} />
    </Stack>
  );
}

function Facts({ activity }: { activity: ServerActivity }): ReactNode {
  const t = useActivityTexts();
  const { count } = useTexts().common;
  const { minutes, now, storage } = activity;
  const sum = (of: 'requests' | 'refused' | 'failed'): string =>
    count(minutes.reduce((total, each) => total + each[of], 0));
  const size = (bytes: number | null): string => (bytes === null ? t.unknown : formatSize(bytes));
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} verticalSpacing="xs">
      <DescriptionList
        items={[
          [t.inLastHour, sum('requests')],
          [t.refused, sum('refused')],
          [t.failed, sum('failed')],
          [t.running, count(now.requestsInProgress)],
          [t.connections, count(now.connections)],
          [t.realtime, count(now.realtimeConnections)],
        ]}
      />
      <DescriptionList
        items={[
          [
            t.server,
            <span key="server" className="code">
              {activity.server}
            </span>,
          ],
          [t.since, <DateTime key="since" value={activity.startedAt} exact />],
          [t.memory, formatSize(now.memoryBytes)],
          [t.database, size(storage.databaseBytes)],
          [t.log, size(storage.logBytes)],
          [t.free, size(storage.freeBytes)],
        ]}
      />
    </SimpleGrid>
  );
}

function Charts({ minutes }: { minutes: readonly ActivityMinute[] }): ReactNode {
  const t = useActivityTexts();
  const { count } = useTexts().common;
  const timeOf = ({ at }: ActivityMinute): string => new Date(at).toLocaleTimeString([], { timeStyle: 'short' });
  const requests = minutes.map((each) => ({
    at: each.at,
    text: t.minute(timeOf(each), count(each.requests), count(each.refused), count(each.failed)),
    parts: [
      { value: each.requests - each.refused - each.failed, color: colors.served },
      { value: each.refused, color: colors.refused },
      { value: each.failed, color: colors.failed },
    ],
  }));
  const latencies = minutes.map((each) => ({
    at: each.at,
    text: t.minuteLatency(timeOf(each), formatDuration(each.p99 ?? 0)),
    parts: [{ value: each.p99 ?? 0, color: colors.served }],
  }));
  const most = (values: readonly (number | null)[]): number => Math.max(0, ...values.map((value) => value ?? 0));
  const mostRequests = count(most(minutes.map((each) => each.requests)));
  const mostLatency = formatDuration(most(minutes.map(({ p99 }) => p99)));
  return (
    <>
      <Section title={t.chart} text={t.chartHint} actions={<Text size="sm">{`max. ${mostRequests}`}</Text>}>
        <MinuteChart title={t.chart} most={mostRequests} bars={requests} />
      </Section>
      <Section title={t.latency} text={t.latencyHint} actions={<Text size="sm">{`max. ${mostLatency}`}</Text>}>
        <MinuteChart title={t.latency} most={mostLatency} bars={latencies} />
      </Section>
    </>
  );
}

function Actions({ activity: { actions } }: { activity: ServerActivity }): ReactNode {
  const t = useActivityTexts();
  const { count } = useTexts().common;
  return (
    <Section title={t.actions} text={t.actionsHint}>
      {actions.length === 0 && <Text>{t.noRequests}</Text>}
      {actions.length > 0 && (
        <ListTable
          label={t.actions}
          rows={actions}
          keyOf={({ action }) => action}
          columns={[
            { title: t.action, render: ({ action }) => <span className="code">{action}</span> },
            { title: t.requests, render: (each) => count(each.requests), number: true },
            { title: t.refused, render: (each) => count(each.refused), number: true },
            { title: t.failed, render: (each) => count(each.failed), number: true },
            { title: t.average, render: (each) => formatDuration(each.average), number: true },
            { title: t.p99, render: (each) => formatDuration(each.p99), number: true },
          ]}
        />
      )}
    </Section>
  );
}

function SlowRequests({ activity: { slow } }: { activity: ServerActivity }): ReactNode {
  const t = useActivityTexts();
  const { count } = useTexts().common;
  return (
    <Section title={t.slow} text={t.slowHint}>
      {slow.length === 0 && <Text>{t.noSlow}</Text>}
      {slow.length > 0 && (
        <ListTable
          label={t.slow}
          rows={slow}
          keyOf={({ application, action, resource, shape }) => JSON.stringify([application, action, resource, shape])}
          columns={[
            {
              title: t.where,
              render: ({ application, action, resource }) => (
                <span className="code">{[application, resource, action].filter(Boolean).join(' ')}</span>
              ),
            },
            { title: t.shape, render: ({ shape }) => <span className="code">{shape}</span> },
            { title: t.requests, render: (each) => count(each.requests), number: true },
            { title: t.slowest, render: (each) => formatDuration(each.slowest), number: true },
            { title: t.last, render: (each) => <DateTime value={each.lastAt} /> },
          ]}
        />
      )}
    </Section>
  );
}

function Jobs({ activity: { now, sinceStart } }: { activity: ServerActivity }): ReactNode {
  const t = useActivityTexts();
  const { count } = useTexts().common;
  return (
    <Section title={t.jobs} text={t.jobsHint}>
      <DescriptionList
        items={[
          [t.importsRunning, count(now.importsRunning)],
          ...jobCounts.map((name) => [t[name], count(sinceStart[name])] as const),
        ]}
      />
    </Section>
  );
}

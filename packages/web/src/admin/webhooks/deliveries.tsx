/** The deliveries of a webhook, newest first. */
import { Button, Select, Stack, Text } from '@mantine/core';
import type { ListMeta } from '@tablinum/client';
import type { ReactNode } from 'react';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { DateTime } from '../../ui/date-time.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { ListTable } from '../../ui/list-table.tsx';
import { Pager } from '../../ui/pager.tsx';
import { toast } from '../../ui/toasts.tsx';
import { StateBadge } from '../access/badges.tsx';
import type { Delivery } from '../access/dto.ts';
import type { DeliveriesSearch } from '../access/list-search.ts';
import { useListSearch } from '../access/use-list-search.ts';

const pageSize = 20;
const tones = { pending: 'careful', delivered: 'good', skipped: 'plain', dead: 'bad' } as const;

export function Deliveries({ webhookId }: { webhookId: number }): ReactNode {
  const t = useAccessTexts().webhooks;
  const may = useMay();
  const [{ status, page = 1 }, go] = useListSearch<DeliveriesSearch>();
  const deliveries = useApiQuery(
    ['deliveries', webhookId, status, page],
    (client, signal) => {
      const filter = status ? { status } : undefined;
      const query = { sort: '-id', page, pageSize, filter };
      return client.call<Delivery[], ListMeta>(`webhooks/${webhookId}/deliveries:list`, { query, signal });
    },
    { refetchInterval: 4000, keepPreviousData: true },
  );
  const replay = useActionMutation<number, readonly Delivery['id'][] | null>({
    write: (client, ids) =>
      client.post<number>('webhooks:replay', ids ? { deliveries: ids } : undefined, { filterByTk: webhookId }),
    changes: ['deliveries', 'webhooks'],
    done: (count) => toast(t.replayed(count)),
  });
  const actions = (
    <>
      <Select
        aria-label={t.delivery.status}
        placeholder={t.anyStatus}
        data={Object.entries(t.statuses).map(([value, label]) => ({ value, label }))}
        value={status ?? null}
        onChange={(next) => go({ status: next ?? '' })}
        clearable
        w={150}
      />
      {may('webhooks', 'replay') && (
        <Button variant="default" onClick={() => void replay(null)}>
          {t.replayDead}
        </Button>
      )}
    </>
  );
  return (
    <Section title={t.deliveries} actions={actions}>
      <QueryBoundary query={deliveries} permission={{ resource: 'webhookDeliveries', action: 'list' }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t.deliveriesEmpty}</Text>
          ) : (
            <Stack gap="xs">
              <DeliveryTable deliveries={data} replay={may('webhooks', 'replay') ? (id) => void replay([id]) : null} />
              <Pager
                page={meta.page ?? 1}
                totalPage={meta.totalPage ?? 1}
                count={meta.count ?? data.length}
                go={(next) => go({ page: next })}
              />
            </Stack>
          )
        }
      </QueryBoundary>
    </Section>
  );
}

interface DeliveryTableProps {
  readonly deliveries: readonly Delivery[];
  /** Null if the role does not allow it. */
  readonly replay: ((id: Delivery['id']) => void) | null;
}

function DeliveryTable({ deliveries, replay }: DeliveryTableProps): ReactNode {
  const { delivery: t, statuses, deliveries: label } = useAccessTexts().webhooks;
  return (
    <ListTable
      label={label}
      rows={deliveries}
      keyOf={(each) => each.id}
      columns={[
        { title: t.event, render: (each) => <span className="code">{each.event}</span> },
        { title: t.record, render: (each) => each.tk },
        { title: t.at, render: (each) => <DateTime value={each.at} /> },
        {
          title: t.status,
          render: (each) => (
            <StateBadge tone={tones[each.status] ?? 'plain'}>{statuses[each.status] ?? each.status}</StateBadge>
          ),
        },
        { title: t.attempts, number: true, render: (each) => each.attempts },
        {
          title: t.answer,
          render: (each) => (
            <Text size="sm">
              {each.lastStatus} {each.lastError}
            </Text>
          ),
        },
        { title: t.next, render: (each) => <DateTime value={each.status === 'pending' ? each.nextAt : null} /> },
        {
          title: '',
          render: (each) =>
            replay &&
            each.status !== 'pending' && (
              <Button size="compact-sm" variant="default" onClick={() => replay(each.id)}>
                {t.replay}
              </Button>
            ),
        },
      ]}
    />
  );
}

import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { Client, List } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { getErrorDetails, useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Pager } from '../../ui/pager.tsx';

interface Suppression {
  readonly id: number;
  readonly address: string;
  readonly reason: string;
}

const keys = ['mail-suppressions'] as const;
const addressesPerPage = 20;

function useSuppressions(account: number, page: number): UseQueryResult<List<Suppression>, Error> {
  return useApiQuery(
    [...keys, account, page],
    async (client, signal) => {
      const query = { filter: { accountId: account }, sort: ['-id'], page, pageSize: addressesPerPage };
      return client.call<Suppression[], List<Suppression>['meta']>('mailSuppressions:list', { query, signal });
    },
    { keepPreviousData: true },
  );
}

/** The addresses to which an account sends no campaigns. */
export function SuppressedAddresses({ account }: { readonly account: number }): ReactNode {
  const t = useInboxTexts().campaigns.suppressed;
  const may = useMay();
  const [page, setPage] = useState(1);
  const suppressions = useSuppressions(account, page);
  return (
    <Section title={t.title} text={t.text}>
      <Stack>
        {may('mailSuppressions', 'create') && <AddForm account={account} />}
        <QueryBoundary query={suppressions} permission={{ resource: 'mailSuppressions', action: 'list' }}>
          {({ data, meta }) =>
            data.length === 0 ? (
              <Text c="dimmed">{t.none}</Text>
            ) : (
              <>
                <SuppressionTable suppressions={data} mayRemove={may('mailSuppressions', 'destroy')} />
                <Pager page={page} totalPage={meta.totalPage ?? 1} count={meta.count ?? data.length} go={setPage} />
              </>
            )
          }
        </QueryBoundary>
      </Stack>
    </Section>
  );
}

function AddForm({ account }: { readonly account: number }): ReactNode {
  const t = useInboxTexts().campaigns.suppressed;
  const [address, setAddress] = useState('');
  const add = useApiMutation({
    write: (client) => client.records('mailSuppressions').create({ accountId: account, address: address.trim() }),
    changes: keys,
    done: () => setAddress(''),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t.address}
          value={address}
          onChange={(event) => setAddress(event.currentTarget.value)}
          error={getErrorDetails(add.error)['address'] ?? add.error?.message}
          autoComplete="off"
          required
        />
        <Button type="submit" variant="default" loading={add.isPending}>
          {t.add}
        </Button>
      </Group>
    </form>
  );
}

interface SuppressionTableProps {
  readonly suppressions: readonly Suppression[];
  readonly mayRemove: boolean;
}

function SuppressionTable({ suppressions, mayRemove }: SuppressionTableProps): ReactNode {
  const t = useInboxTexts().campaigns.suppressed;
  const remove = useActionMutation({
    write: (client: Client, id: number) => client.records('mailSuppressions').destroy(id),
    changes: keys,
  });
  return (
    <ListTable<Suppression>
      label={t.title}
      rows={suppressions}
      keyOf={({ id }) => id}
      columns={[
        { title: t.columns.address, render: ({ address }) => <LongText isAddress>{address}</LongText> },
        { title: t.columns.reason, render: ({ reason }) => t.reason(reason) },
        {
          title: '',
          render: ({ id, address }) =>
            mayRemove && <IconButton icon="trash" label={t.remove(address)} onClick={() => void remove(id)} />,
        },
      ]}
    />
  );
}

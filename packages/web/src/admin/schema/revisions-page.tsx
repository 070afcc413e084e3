/** The revisions of the schema with their steps, and the data that is kept of what they destroyed. It changes nothing. */
import { Badge, Group, List, Modal, Stack, Text } from '@mantine/core';
import type { SchemaRevision, SchemaRevisions, SchemaStep } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { Actor } from '../../data/actor.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { DateTime } from '../../ui/date-time.tsx';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';

export function RevisionsPage(): ReactNode {
  const t = useAccessTexts().schema;
  const revisions = useApiQuery(['schema', 'revisions'], (client) => client.collections.revisions(), { staleTime: 0 });
  return (
    <Page title={t.title} description={t.description}>
      <QueryBoundary query={revisions} permission={{ resource: 'schema', action: 'revisions' }}>
        {(data) => <Revisions data={data} />}
      </QueryBoundary>
    </Page>
  );
}

function Revisions({ data }: { data: SchemaRevisions }): ReactNode {
  const t = useAccessTexts().schema;
  const [opened, setOpened] = useState<SchemaRevision | null>(null);
  if (data.revisions.length === 0) return <Empty icon="diagram" title={t.emptyTitle} text={t.emptyText} />;
  return (
    <Stack gap="xl">
      <ListTable
        label={t.title}
        rows={data.revisions}
        keyOf={({ number }) => number}
        columns={[
          { title: t.number, number: true, width: 90, render: ({ number }) => number },
          { title: t.at, render: ({ at }) => <DateTime value={at} exact /> },
          { title: t.actor, render: ({ actor }) => (actor ? <Actor actor={actor} /> : t.server) },
          { title: t.summary, render: ({ summary }) => summary },
          { title: t.steps, number: true, render: ({ steps }) => steps.length },
          {
            title: '',
            width: 50,
            render: (each) => (
              <IconButton icon="eye" size="md" label={t.open(each.number)} onClick={() => setOpened(each)} />
            ),
          },
        ]}
      />
      {data.tombstones.length > 0 && <KeptData data={data} />}
      <Modal
        opened={opened !== null}
        onClose={() => setOpened(null)}
        size="lg"
        title={opened && t.revision(opened.number)}
      >
        {opened && <Steps steps={opened.steps} />}
      </Modal>
    </Stack>
  );
}

function KeptData({ data }: { data: SchemaRevisions }): ReactNode {
  const t = useAccessTexts().schema;
  return (
    <Section title={t.kept} text={t.keptText}>
      <ListTable
        label={t.kept}
        rows={data.tombstones}
        keyOf={({ name, at }) => `${name} ${at}`}
        columns={[
          { title: t.name, render: ({ name }) => <span className="code">{name}</span> },
          { title: t.records, number: true, render: ({ records }) => records },
          { title: t.expires, render: ({ expires }) => <DateTime value={expires} exact /> },
        ]}
      />
    </Section>
  );
}

function Steps({ steps }: { steps: readonly SchemaStep[] }): ReactNode {
  return (
    <List spacing="xs" listStyleType="none">
      {steps.map((step) => (
        <List.Item key={JSON.stringify(step)}>
          <Step step={step} />
        </List.Item>
      ))}
    </List>
  );
}

function Step({ step }: { step: SchemaStep }): ReactNode {
  const t = useAccessTexts().schema;
  const { action, kind, of, name, from, values = {}, before = {}, destructive } = step;
  const changes = action === 'change' ? Object.keys(values) : [];
  return (
    <div>
      <Group gap="xs">
        <Text size="sm">
          {t.actions[action]} {t.kinds[kind]} <span className="code">{name === undefined ? of : `${of}.${name}`}</span>
          {from !== undefined && `, ${t.formerly(from)}`}
        </Text>
        {destructive && (
          <Badge color="red" variant="light" size="sm">
            {t.destructive}
          </Badge>
        )}
      </Group>
      {changes.map((key) => (
        <Text key={key} size="xs" c="dimmed" className="code">
          {key}: {JSON.stringify(before[key] ?? null)} → {JSON.stringify(values[key] ?? null)}
        </Text>
      ))}
    </div>
  );
}

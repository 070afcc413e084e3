/** The nodes of a Citus cluster in the list of applications: where each one is, and the dialog that moves it. */
import { Modal, NativeSelect, Stack, Text } from '@mantine/core';
import type { Application, ClusterNode } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import type { ListColumn } from '../../ui/list-table.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { toast } from '../../ui/toasts.tsx';
import { StateBadge } from '../access/badges.tsx';

const noNodes: readonly ClusterNode[] = [];

/** The nodes; none if the server does not use a cluster, or the user is no administrator. */
export function useNodes(): readonly ClusterNode[] {
  const may = useMay();
  const query = useApiQuery(['applications', 'nodes'], (client) => client.applications().nodes(), {
    enabled: may('applications', 'nodes'),
  });
  return query.data ?? noNodes;
}

/** Whether an application is just being moved. */
export const isMoving = ({ move }: Pick<Application, 'move'>): boolean => move?.step != null;

/** The columns of node and size; none if there are no nodes. */
export function useNodeColumns(nodes: readonly ClusterNode[]): readonly ListColumn<Application>[] {
  const labels = useAccessTexts().applications;
  if (nodes.length === 0) return [];
  const sizes = new Map(nodes.flatMap(({ applications }) => applications.map(({ name, bytes }) => [name, bytes])));
  return [
    { title: labels.node, render: (each) => <Node application={each} /> },
    {
      title: labels.size,
      number: true,
      render: (each) => {
        const bytes = sizes.get(each.name) ?? null;
        return bytes === null ? '' : formatSize(bytes);
      },
    },
  ];
}

function Node({ application }: { application: Application }): ReactNode {
  const labels = useAccessTexts().applications;
  const { node, move } = application;
  return (
    <Stack gap={2} align="flex-start">
      <span className="code">{node}</span>
      {move?.status === 'running' && <StateBadge tone="careful">{labels.moving(move.to)}</StateBadge>}
      {move?.status === 'failed' && (
        <Text size="xs" c="dimmed">
          {labels.moveFailed(move.to, move.problem ?? '')}
        </Text>
      )}
    </Stack>
  );
}

interface MoveDialogProps {
  readonly application: Application;
  readonly nodes: readonly ClusterNode[];
  readonly close: () => void;
}

/** Moves an application to another node. */
export function MoveDialog({ application: { name, node }, nodes, close }: MoveDialogProps): ReactNode {
  const labels = useAccessTexts().applications;
  const targets = nodes.filter((each) => each.isTarget && each.isAvailable && each.node !== node);
  const [target, setTarget] = useState(targets[0]?.node ?? '');
  const move = useApiMutation({
    write: (client) => client.applications().move(name, target),
    changes: ['applications'],
    done: () => {
      toast(labels.moveStarted(name, target));
      close();
    },
  });
  return (
    <Modal opened onClose={close} title={labels.moveTitle(name)}>
      <DialogForm write={move} submitLabel={labels.move} cancel={close} isReady={target !== ''}>
        <Text size="sm">{labels.moveText}</Text>
        <NativeSelect
          label={labels.node}
          value={target}
          onChange={(event) => setTarget(event.currentTarget.value)}
          data={targets.map((each) => ({
            value: each.node,
            label: labels.nodeOption(each.node, each.applications.length),
          }))}
        />
      </DialogForm>
    </Modal>
  );
}

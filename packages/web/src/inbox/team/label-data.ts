/** The labels of the conversations that the user sees, with their numbers. */
import { type Client, Failure } from '@tablinum/client';
import { useApiQuery } from '../../data/queries.ts';
import { useMay } from '../../data/schema.ts';

/** A label, and what has it. Trash does not count. */
export interface LabelCount {
  readonly label: string;
  readonly conversations: number;
  /** Unread messages in these conversations. */
  readonly unread: number;
}

const maxLabels = 500;
const noLabels: readonly LabelCount[] = [];

/** The labels in use, by name. The key is that of other counts of conversations, so that events refresh it too. */
export function useLabels(): readonly LabelCount[] {
  const may = useMay();
  const { data } = useApiQuery(['mail-load', 'labels'], readLabels, {
    enabled: may('conversations', 'list'),
    staleTime: 60_000,
  });
  return data ?? noLabels;
}

/** None for a role that may not read the labels. */
async function readLabels(client: Client): Promise<readonly LabelCount[]> {
  try {
    const rows = await client.post<readonly LabelCount[]>('conversations:query', {
      dimensions: [{ field: 'labels', alias: 'label' }],
      measures: [
        { aggregation: 'count', alias: 'conversations' },
        { field: 'unread', aggregation: 'sum', alias: 'unread' },
      ],
      filter: { labels: { $arrayNotEmpty: true }, messages: { $gt: 0 } },
      limit: maxLabels,
    });
    return rows.toSorted((one, other) => one.label.localeCompare(other.label));
  } catch (error) {
    if (error instanceof Failure && (error.status === 403 || error.status === 400)) return [];
    throw error;
  }
}

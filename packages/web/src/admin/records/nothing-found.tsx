import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Empty } from '../../ui/states.tsx';

interface NothingFoundProps {
  /** A filter or a search is set. */
  readonly isNarrowed: boolean;
  readonly trash: boolean;
  readonly clear: () => void;
  readonly leaveTrash: () => void;
  /** A link to a new record, for users who may create one. */
  readonly create: ReactNode;
}

/** Shown instead of an empty grid. */
export function NothingFound({ isNarrowed, trash, clear, leaveTrash, create }: NothingFoundProps): ReactNode {
  const t = useTexts().data.records;
  if (isNarrowed)
    return (
      <Empty icon="search" title={t.noneFoundTitle} text={t.noneFoundText}>
        <Button variant="default" onClick={clear}>
          {t.clearFilter}
        </Button>
      </Empty>
    );
  if (trash)
    return (
      <Empty icon="trash" title={t.emptyTrashTitle} text={t.emptyTrashText}>
        <Button variant="default" onClick={leaveTrash}>
          {t.leaveTrash}
        </Button>
      </Empty>
    );
  return (
    <Empty icon="table" title={t.emptyTitle} text={create ? t.emptyText : undefined}>
      {create}
    </Empty>
  );
}

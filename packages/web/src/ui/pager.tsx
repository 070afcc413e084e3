import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { Icon } from './icon.tsx';

interface PagerProps {
  /** From 1. */
  readonly page: number;
  readonly totalPage: number;
  readonly count: number;
  readonly go: (page: number) => void;
}

/** Moves through a long list page by page. For a single page it only shows the number of entries. */
export function Pager({ page, totalPage, count, go }: PagerProps): ReactNode {
  const t = useTexts().common.pager;
  return (
    <Group justify="space-between" component="nav" aria-label={t.pages}>
      <Text size="sm" c="dimmed" className="tabular">
        {t.found(count)}
        {totalPage > 1 && ` · ${t.pageOf(page, totalPage)}`}
      </Text>
      {totalPage > 1 && (
        <Group gap="xs">
          <Button
            variant="default"
            disabled={page <= 1}
            onClick={() => go(page - 1)}
            leftSection={<Icon name="chevronLeft" />}
          >
            {t.newer}
          </Button>
          <Button
            variant="default"
            disabled={page >= totalPage}
            onClick={() => go(page + 1)}
            rightSection={<Icon name="chevronRight" />}
          >
            {t.older}
          </Button>
        </Group>
      )}
    </Group>
  );
}

import { Badge, Group } from '@mantine/core';
import type { ReactNode } from 'react';

type Tone = 'good' | 'bad' | 'careful' | 'plain';
const colors: Readonly<Record<Tone, string>> = { good: 'green', bad: 'red', careful: 'yellow', plain: 'gray' };

/** A state as a word with a matching colour. */
export function StateBadge({ tone, children }: { tone: Tone; children: ReactNode }): ReactNode {
  return (
    <Badge variant="light" color={colors[tone]} tt="none" fw={500} size="md" miw="max-content">
      {children}
    </Badge>
  );
}

/** Several names as badges. */
export function NameBadges({ names }: { names: readonly string[] }): ReactNode {
  return (
    <Group gap={4}>
      {names.map((name) => (
        <Badge key={name} variant="default" tt="none" fw={500} size="md" miw="max-content" maw="none">
          {name}
        </Badge>
      ))}
    </Group>
  );
}

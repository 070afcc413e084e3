import { Alert, List, Stack, Text } from '@mantine/core';
import type { Impact } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';

/** Shows the result of a dry run of a definition change. */
export function ImpactReport({ impact }: { impact: Impact }): ReactNode {
  const t = useTexts().data.definition;
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t.impact}>
      <Stack gap="xs">
        <List size="sm">
          {impact.changes.map(({ name, tk: key }) => (
            <List.Item key={name + key}>
              {t.impactChanges[name] ?? name} <b>{key}</b>
            </List.Item>
          ))}
        </List>
        {Object.keys(impact.records).length > 0 && (
          <>
            <Text size="sm">{t.impactAffected}</Text>
            <List size="sm">
              {Object.entries(impact.records).map(([collection, n]) => (
                <List.Item key={collection}>{t.impactRecords(n, collection)}</List.Item>
              ))}
            </List>
          </>
        )}
      </Stack>
    </Alert>
  );
}

import { Button, Group, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import type { SettingReport } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useSettingsTexts } from '../../ui/i18n/settings-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { StateBadge } from '../access/badges.tsx';

interface SettingFieldProps {
  readonly report: SettingReport;
  /** Undefined: unchanged. */
  readonly draft: string | undefined;
  readonly change: (text: string) => void;
  /** Removes the stored value. */
  readonly reset: () => void;
  readonly problem: string | undefined;
}

/** One setting with its source. The input is disabled if the environment sets it. */
export function SettingField({ report, draft, change, reset, problem }: SettingFieldProps): ReactNode {
  const t = useSettingsTexts();
  const { name, source, changeable } = report;
  const label = t.names[name] ?? name;
  return (
    <Stack gap={4}>
      <SettingInput report={report} label={label} text={draft} change={change} problem={problem} />
      <Group gap="xs">
        <StateBadge tone={source === 'stored' ? 'good' : source === 'default' ? 'plain' : 'careful'}>
          {t.sources[source] ?? source}
        </StateBadge>
        <Text size="xs" c="dimmed" className="code">
          {name}
        </Text>
        {!changeable && (
          <Text size="xs" c="dimmed">
            {t.fixed(name)}
          </Text>
        )}
        {source === 'stored' && (
          <Button variant="subtle" size="compact-xs" onClick={reset} aria-label={t.restoreDefault(label)}>
            {t.reset}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

interface SettingInputProps {
  readonly report: SettingReport;
  readonly label: string;
  readonly text: string | undefined;
  readonly change: (text: string) => void;
  readonly problem: string | undefined;
}

function SettingInput({ report, label, text, change, problem }: SettingInputProps): ReactNode {
  const t = useSettingsTexts();
  const { choices, secret, isSet, value, changeable } = report;
  const description = `${report.description} ${useRangeText(report)}`.trim();
  const common = { label, description, error: problem, disabled: !changeable };
  if (choices)
    return (
      <Select
        {...common}
        data={[...choices]}
        value={text ?? value}
        onChange={(choice) => change(choice ?? '')}
        allowDeselect={false}
      />
    );
  if (secret)
    return (
      <PasswordInput
        {...common}
        value={text ?? ''}
        placeholder={isSet ? t.secretSet : ''}
        onChange={(event) => change(event.currentTarget.value)}
        autoComplete="off"
      />
    );
  return (
    <TextInput
      {...common}
      value={text ?? value ?? ''}
      {...(report.unit !== null && { inputMode: 'numeric' as const })}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

function useRangeText({ minimum, maximum, unit }: SettingReport): string {
  const t = useSettingsTexts();
  const { count } = useTexts().common;
  return minimum === null || maximum === null || unit === null ? '' : t.range(count(minimum), count(maximum), unit);
}

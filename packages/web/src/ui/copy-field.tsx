import { Button, CopyButton, Group, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from './i18n/texts.tsx';
import { Icon } from './icon.tsx';

/** A read-only text with a button to copy it. It is selected completely on focus. */
export function CopyField({ label, value }: { label: string; value: string }): ReactNode {
  const t = useTexts().common;
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <TextInput
        label={label}
        value={value}
        readOnly
        flex={1}
        spellCheck={false}
        classNames={{ input: 'code' }}
        onFocus={(event) => event.currentTarget.select()}
        data-autofocus
      />
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy} leftSection={<Icon name={copied ? 'check' : 'copy'} />}>
            {copied ? t.copied : t.copy}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}

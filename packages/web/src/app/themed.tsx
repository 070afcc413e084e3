import { MantineProvider } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { useStore } from '../ui/store.ts';
import { createAccent } from '../ui/theme/accent.ts';
import { accentColor } from '../ui/theme/accent-color.ts';
import { cssVariablesIn, themeIn } from '../ui/theme/theme.ts';

interface ThemedProps {
  /** The nonce of inline styles. */
  readonly nonce: string | null;
  readonly children: ReactNode;
}

/** Provides the theme with the accent colour of the setting ACCENT_COLOR. */
export function Themed({ nonce, children }: ThemedProps): ReactNode {
  const { common } = useTexts();
  const color = useStore(accentColor);
  const { theme, variables } = useMemo(() => {
    const accent = createAccent(color);
    return { theme: themeIn(common, accent), variables: cssVariablesIn(accent) };
  }, [common, color]);
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      {...(nonce && { getStyleNonce: () => nonce })}
    >
      {children}
    </MantineProvider>
  );
}

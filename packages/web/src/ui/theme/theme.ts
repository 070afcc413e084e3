import {
  type CSSVariablesResolver,
  createTheme,
  type MantineColorsTuple,
  type MantineThemeOverride,
} from '@mantine/core';
import type { Accent } from './accent.ts';

/** Greys with a slight tint of the accent colour. */
const gray: MantineColorsTuple = [
  '#f8faf9',
  '#f1f4f3',
  '#e5eae8',
  '#d5dcda',
  '#bcc6c3',
  '#98a5a1',
  '#74827e',
  '#55625e',
  '#37423f',
  '#1b2422',
];
const dark: MantineColorsTuple = [
  '#dde4e2',
  '#c2ccc9',
  '#a3afac',
  '#71807c',
  '#46534f',
  '#35413e',
  '#28322f',
  '#1a2220',
  '#141b19',
  '#0e1312',
];

/** The Mantine theme, with the built-in texts of components in the given language. The accent colour has the name `verdigris`. */
export const themeIn = (
  { close, clear }: { readonly close: string; readonly clear: string },
  { shades }: Accent,
): MantineThemeOverride =>
  createTheme({
    colors: { verdigris: shades, gray, dark },
    primaryColor: 'verdigris',
    primaryShade: 7,
    defaultRadius: 'sm',
    fontFamily: 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
    fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
    fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
    spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
    radius: { xs: '3px', sm: '5px', md: '8px', lg: '12px', xl: '20px' },
    headings: {
      fontWeight: '600',
      sizes: {
        h1: { fontSize: '1.25rem', lineHeight: '1.3' },
        h2: { fontSize: '1rem', lineHeight: '1.4' },
        h3: { fontSize: '0.875rem', lineHeight: '1.4' },
      },
    },
    focusRing: 'auto',
    respectReducedMotion: true,
    cursorType: 'pointer',
    components: {
      Button: { defaultProps: { size: 'sm' } },
      Modal: {
        defaultProps: {
          centered: true,
          overlayProps: { backgroundOpacity: 0.4 },
          closeButtonProps: { 'aria-label': close },
        },
      },
      // Selecting the current option does not deselect it; the clear button can be reached with the keyboard.
      Select: {
        defaultProps: {
          allowDeselect: false,
          clearButtonProps: { tabIndex: 0, 'aria-hidden': false, 'aria-label': clear },
        },
      },
      Drawer: { defaultProps: { closeButtonProps: { 'aria-label': close } } },
      Tooltip: { defaultProps: { openDelay: 400, withinPortal: true } },
      Menu: { defaultProps: { shadow: 'md', withinPortal: true } },
    },
  });

/** The background and text of the light variant of a colour, with a contrast of at least 4.5:1. */
function buildSoftVariant(color: string, ground: string, textColor: string): Record<string, string> {
  return {
    [`--mantine-color-${color}-light`]: ground,
    [`--mantine-color-${color}-light-hover`]: ground,
    [`--mantine-color-${color}-light-color`]: textColor,
  };
}

/** CSS variables of surfaces and lines. Dimmed text has a contrast of 4.5:1 on each of them. */
export const cssVariablesIn =
  ({ shades, darkSoft }: Accent): CSSVariablesResolver =>
  () => ({
    variables: { '--row-height': '34px' },
    light: {
      '--mantine-color-text': gray[9],
      '--mantine-color-dimmed': gray[7],
      '--mantine-color-placeholder': gray[7],
      '--mantine-color-error': '#b42318',
      '--mantine-color-anchor': shades[7],
      '--surface': '#ffffff',
      '--surface-sunken': gray[0],
      '--surface-raised': '#ffffff',
      '--line': gray[2],
      '--line-strong': gray[3],
      '--accent-soft': shades[0],
      '--accent-text': shades[7],
      '--flash': '#fdf0c3',
      '--star': '#b7791f',
      ...buildSoftVariant('yellow', '#fdf3d7', '#744700'),
      ...buildSoftVariant('red', '#fdeceb', '#a3261b'),
      ...buildSoftVariant('green', '#e6f6ea', '#1a5c2e'),
      ...buildSoftVariant('blue', '#e7f1fb', '#174a7c'),
      ...buildSoftVariant('gray', gray[1], gray[8]),
      ...buildSoftVariant('verdigris', shades[0], shades[8]),
    },
    dark: {
      '--mantine-color-body': dark[8],
      '--mantine-color-dimmed': dark[2],
      '--mantine-color-placeholder': dark[2],
      '--mantine-color-error': '#ff9c93',
      '--mantine-color-anchor': shades[3],
      '--surface': dark[8],
      '--surface-sunken': dark[9],
      '--surface-raised': dark[7],
      '--line': dark[6],
      '--line-strong': dark[5],
      '--accent-soft': darkSoft,
      '--accent-text': shades[3],
      '--flash': '#4a4017',
      '--star': '#f0c04a',
      ...buildSoftVariant('yellow', '#3a2f10', '#f6d67a'),
      ...buildSoftVariant('red', '#3f1d1a', '#ffb4ac'),
      ...buildSoftVariant('green', '#16351f', '#9bdcae'),
      ...buildSoftVariant('blue', '#152f49', '#a4cdf5'),
      ...buildSoftVariant('gray', dark[6], dark[0]),
      ...buildSoftVariant('verdigris', darkSoft, shades[2]),
    },
  });

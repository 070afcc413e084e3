/** Derives the shades of the accent colour from the setting ACCENT_COLOR. */

/** Ten shades from light to dark; shade 7 is used for buttons, and has a contrast of at least 4.5:1 with white text. */
export type Shades = readonly [string, string, string, string, string, string, string, string, string, string];

export interface Accent {
  readonly shades: Shades;
  /** The background of selected elements in the dark colour scheme. */
  readonly darkSoft: string;
}

/** Verdigris, the accent colour of the product. */
export const verdigris: Accent = {
  shades: [
    '#effaf8',
    '#d9f2ee',
    '#b0e3dc',
    '#82d1c7',
    '#55bbb0',
    '#34a094',
    '#1d857a',
    '#0d6b63',
    '#0a554f',
    '#06403b',
  ],
  darkSoft: '#12302c',
};

type Rgb = readonly [red: number, green: number, blue: number];

const white: Rgb = [255, 255, 255];
const black: Rgb = [0, 0, 0];
/** The background of the dark colour scheme. */
const darkGround: Rgb = [20, 27, 25];
const minContrast = 4.5;
/** The proportion of white in the lightest shade. */
const lightest = 0.94;

/** Creates the accent of a colour such as `#7a3cc2`, which is darkened until text has enough contrast. @param color null: verdigris. */
export function createAccent(color: string | null): Accent {
  const given = color === null ? null : parseColor(color);
  if (given === null) return verdigris;
  const base = darken(given);
  const lighter = (part: number): string => format(mix(base, white, part));
  const darker = (part: number): string => format(mix(base, black, part));
  const shades: Shades = [
    lighter(lightest),
    lighter(0.86),
    lighter(0.71),
    lighter(0.54),
    lighter(0.38),
    lighter(0.24),
    lighter(0.11),
    format(base),
    darker(0.2),
    darker(0.4),
  ];
  return { shades, darkSoft: format(mix(base, darkGround, 0.72)) };
}

/** Computes the contrast of two colours according to WCAG, from 1 to 21. */
export function computeContrast(one: string, other: string): number {
  const values = [one, other].map((each) => computeLuminance(parseColor(each) ?? black)).sort((a, b) => b - a);
  const [lighter = 0, darker = 0] = values;
  return (lighter + 0.05) / (darker + 0.05);
}

function darken(color: Rgb): Rgb {
  for (let part = 0; part < 1; part += 0.02) {
    const mixed = mix(color, black, part);
    // Text in this colour is also shown on the lightest shade.
    if (computeContrast(format(mixed), format(mix(mixed, white, lightest))) >= minContrast) return mixed;
  }
  return black;
}

function computeLuminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((each) => {
    const part = each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(one: Rgb, other: Rgb, part: number): Rgb {
  const at = (index: 0 | 1 | 2): number => Math.round(one[index] + (other[index] - one[index]) * part);
  return [at(0), at(1), at(2)];
}

function parseColor(text: string): Rgb | null {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  if (!match) return null;
  const [red = 0, green = 0, blue = 0] = match.slice(1).map((each) => Number.parseInt(each, 16));
  return [red, green, blue];
}

function format(color: Rgb): string {
  return `#${color.map((each) => each.toString(16).padStart(2, '0')).join('')}`;
}

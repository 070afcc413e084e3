import { expect, test } from 'vitest';
import { computeContrast, createAccent, verdigris } from '../src/ui/theme/accent.ts';

test('text in every accent colour is legible, in the light and in the dark colour scheme', () => {
  const steps = ['00', '55', 'aa', 'ff'];
  const colors = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)));
  for (const color of [...colors, null]) {
    const { shades, darkSoft } = createAccent(color);
    const pairs = {
      button: ['#ffffff', shades[7]],
      light: [shades[7], shades[0]],
      dark: [shades[3], darkSoft],
    } as const;
    for (const [name, [one, other]] of Object.entries(pairs))
      expect(computeContrast(one, other), `${color} ${name}`).toBeGreaterThanOrEqual(4.5);
  }
});

test('a colour that is dark enough is not changed, and without a valid colour, the default accent is used', () => {
  expect(createAccent('#7A3CC2').shades[7]).toBe('#7a3cc2');
  expect(createAccent(null)).toBe(verdigris);
  expect(createAccent('no colour')).toBe(verdigris);
});

import { expect, test } from 'vitest';
import { createPreview, type TextBeginning } from '../../src/mail/parse/text-preview.ts';

const preview = (text: string | Buffer, more: Partial<TextBeginning> = {}): string =>
  createPreview({ type: 'text/plain', encoding: '7bit', charset: 'utf-8', bytes: Buffer.from(text), ...more });

test('the first words of a text are shown, whatever its encoding and wherever it was truncated', () => {
  const text = 'Grüße aus Köln,\r\nwie vereinbart – hier ist der Plan. 你好\r\n\r\n> zitiert\r\n';
  const whole = 'Grüße aus Köln, wie vereinbart – hier ist der Plan. 你好';
  expect(preview(text)).toBe(whole);
  const bytes = Buffer.from(text);
  const quoted = [...bytes].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
  for (let end = 1; end < 70; end += 1) {
    const base64 = bytes.toString('base64').slice(0, end);
    const results = [
      preview(bytes.subarray(0, end)),
      preview(base64, { encoding: 'base64' }),
      preview(quoted.slice(0, end), { encoding: 'quoted-printable' }),
    ];
    for (const result of results) expect(whole.startsWith(result.trim()), `${end}: ${result}`).toBe(true);
  }
  const latin1 = Buffer.from('Grüße', 'latin1');
  expect(preview(latin1, { charset: 'iso-8859-1' })).toBe('Grüße');
  expect(preview(latin1, { charset: null, encoding: '8bit' })).toBe('Grüße');
});

test('the preview of HTML only contains visible text, wherever the HTML was truncated', () => {
  const html =
    '<html><head><style>p { color: red }</style><title>No</title></head><body><!-- hidden --><p title="no">Dear Ada,</p><p>thanks &amp; regards</p>';
  for (let end = 0; end <= html.length; end += 1) {
    const shown = preview(html.slice(0, end), { type: 'text/html' });
    expect('Dear Ada, thanks & regards'.startsWith(shown.replace(/ ?&[a-z]*$/, '')), `${end}: ${shown}`).toBe(true);
  }
  expect(preview(html, { type: 'text/html' })).toBe('Dear Ada, thanks & regards');
});

test('previews of hostile texts take little time', () => {
  const begun = performance.now();
  for (const text of ['<'.repeat(2048), '<div>'.repeat(400), '&'.repeat(2048), '<!--'.repeat(500), '\0'.repeat(2048)])
    for (const type of ['text/plain', 'text/html'] as const) preview(text, { type });
  expect(performance.now() - begun).toBeLessThan(2000);
});

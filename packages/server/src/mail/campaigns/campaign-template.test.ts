import { describe, expect, test } from 'vitest';
import { escapeText } from '../html/escape-text.ts';
import { addTracking } from './campaign-links.ts';
import { fillCampaign, findTemplateProblem, listVariables } from './campaign-template.ts';

const url = 'https://data.example.com/unsubscribe/x?a=1&b';
const fill = (content: { subject?: string; text?: string | null; html?: string | null }, record: object = {}) =>
  fillCampaign(
    { subject: '', text: null, html: null, ...content },
    { record: { ...record }, unsubscribeUrl: url },
    2000,
  );

describe('templates of campaigns', () => {
  test('do not expand placeholders in values, and use the fallback for empty values', () => {
    const record = { name: '{{secret}}', secret: 'x', city: '', age: 7, list: [1], none: null };
    const text = '{{name}} {{ secret }} {{city|here}} {{age}} {{list|-}}{{none|}}{{other|?}}{{unsubscribeUrl}}';
    expect(fill({ text }, record).text).toBe(`{{secret}} x here 7 -?${url}`);
  });

  test('escape values and fallbacks in HTML, and nothing else', () => {
    const { html, text } = fill(
      { html: '<b>{{name|<i>}}</b>{{no|<i>}}', text: '{{name}}' },
      { name: '"><script>alert(1)</script>' },
    );
    expect(html).toContain('<b>&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</b>&lt;i&gt;');
    expect(html).toContain(`<a href="https://data.example.com/unsubscribe/x?a=1&amp;b">`);
    expect(text).toContain('"><script>');
  });

  test('no value can add a line break to the subject', () => {
    expect(fill({ subject: 'Hi {{name}}!' }, { name: 'A\r\nBcc: eve@example.net\u2028x' }).subject).toBe(
      'Hi A Bcc: eve@example.net x!',
    );
  });

  test('a message without an unsubscribe link gets one, in an HTML document before the end of its body', () => {
    expect(fill({ text: 'Hello' }).text).toBe(`Hello\n\n-- \nUnsubscribe: ${url}\n`);
    expect(fill({ html: '<html><body>x</BODY></html>' }).html).toMatch(/Unsubscribe<\/a><\/p><\/BODY><\/html>$/);
    expect(fill({ html: '<body>\u0130\u0130x</body>' }).html).toMatch(/x<p><a [^>]*>Unsubscribe<\/a><\/p><\/body>$/);
    expect(fill({ text: 'Hello', html: '<a href="{{unsubscribeUrl}}">no</a>' }).text).toBe('Hello');
  });

  test('name the fields that they use, and refuse other expressions', () => {
    const content = { subject: '{{a}}', text: '{{b|x}} {{a}} {{unsubscribeUrl}}', html: null };
    expect(listVariables(content)).toEqual(['a', 'b']);
    for (const wrong of ['{{#if a}}', '{{a.b}}', '{{a', '{{a|{{b}}}}', '{{}}'])
      expect({ wrong, problem: findTemplateProblem(wrong) }).toEqual({ wrong, problem: expect.any(String) });
    for (const right of ['{a}', '{{a}} }}', '{{ a }}', '{{a|b c}}', '']) expect(findTemplateProblem(right)).toBeNull();
  });
});

test('only anchors with a plain web address are counted', () => {
  const links = {
    unsubscribeUrl: 'https://d.example/u',
    openUrl: null,
    toClickUrl: (url: string) => `https://d.example/l/${encodeURIComponent(url)}`,
  };
  const kept = [
    '<a href="mailto:ann@example.com">',
    '<a href="javascript:alert(1)">',
    '<a href="https://d.example/u">',
    '<a href="http://[bad">',
    '<img src="https://x.example/a.png">',
    '<link href="https://x.example/">',
    `<a href="https://x.example/${'a'.repeat(2000)}">`,
  ];
  for (const html of kept) expect(addTracking(html, links, escapeText).split('\n')[0]).toBe(html);
  expect(addTracking('<a\n href="https://x.example/?a=1&amp;b=2">', links, escapeText)).toContain(
    '<a\n href="https://d.example/l/https%3A%2F%2Fx.example%2F%3Fa%3D1%26b%3D2">',
  );
  expect(addTracking(kept[0]!, { ...links, toClickUrl: null }, escapeText)).toBe(kept[0]);
});

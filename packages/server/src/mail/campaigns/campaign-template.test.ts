import { describe, expect, test } from 'vitest';
import { fillCampaign, findTemplateProblem, listVariables } from './campaign-template.ts';

const url = 'https://data.example.com/unsubscribe/x?a=1&b';
const fill = (content: { subject?: string; text?: string | null; html?: string | null }, record: object = {}) =>
  fillCampaign(
    { subject: '', text: null, html: null, ...content },
    { record: { ...record }, unsubscribeUrl: url },
    2000,
  );

describe('templates of campaigns', () => {
  test('fill in values once, with a text for empty ones', () => {
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

  test('no value can end the line of the subject', () => {
    expect(fill({ subject: 'Hi {{name}}!' }, { name: 'A\r\nBcc: eve@example.net\u2028x' }).subject).toBe(
      'Hi A Bcc: eve@example.net x!',
    );
  });

  test('a message without a link to unsubscribe gets one, inside of a whole document', () => {
    expect(fill({ text: 'Hello' }).text).toBe(`Hello\n\n-- \nUnsubscribe: ${url}\n`);
    expect(fill({ html: '<html><body>x</BODY></html>' }).html).toMatch(/Unsubscribe<\/a><\/p><\/BODY><\/html>$/);
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

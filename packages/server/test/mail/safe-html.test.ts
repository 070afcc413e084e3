import { expect, test } from 'vitest';
import { sanitiseHtml } from '../../src/mail/html/sanitise-html.ts';
import { htmlAttacks } from './html-attacks.ts';
import { findUnsafeHtml } from './html-checker.ts';

const safe = (html: string): string => sanitiseHtml(html).html;

test('the checker finds unsafe HTML in attacks', () => {
  const found = htmlAttacks.filter((attack) => findUnsafeHtml(attack).length > 0);
  expect(htmlAttacks.length).toBeGreaterThan(1500);
  expect(found.length).toBeGreaterThan(htmlAttacks.length * 0.65);
});

test('an independent parser finds nothing unsafe in sanitised attacks', () => {
  const left = htmlAttacks.map((attack) => [attack, safe(attack), findUnsafeHtml(safe(attack))] as const);
  expect(left.filter(([, , faults]) => faults.length > 0)).toEqual([]);
});

test('sanitising safe HTML again does not change it', () => {
  const twice = htmlAttacks
    .map((attack) => [attack, safe(attack)] as const)
    .filter(([, html]) => !html.includes('<style>'));
  // Each pass adds a prefix to names, and images lose the attribute that the first pass added: both are intended, so
  // they are not compared.
  const bare = (html: string): string => html.replace(/ (class|id|data-src|data-cid)="[^"]*"/g, '');
  expect(twice.filter(([, html]) => bare(safe(html)) !== bare(html))).toEqual([]);
});

test.each([
  [
    'text and inline markup',
    '<p>a <b>b</b> <i>c</i><br>d &amp; &lt;e&gt;</p>',
    '<p>a <b>b</b> <i>c</i><br />d &amp; &lt;e&gt;</p>',
  ],
  [
    'links',
    '<a href="https://a.example/b?c=d&e=f#g">x</a>',
    '<a href="https://a.example/b?c=d&amp;e=f#g" rel="noopener noreferrer" target="_blank">x</a>',
  ],
  [
    'links without a scheme',
    '<a href="//a.example/b">x</a>',
    '<a href="https://a.example/b" rel="noopener noreferrer" target="_blank">x</a>',
  ],
  [
    'mailto and tel links',
    '<a href="mailto:a@b.example?subject=c">x</a><a href="tel:+123">y</a>',
    '<a href="mailto:a@b.example?subject=c" rel="noopener noreferrer" target="_blank">x</a><a href="tel:+123" rel="noopener noreferrer" target="_blank">y</a>',
  ],
  ['links within the page lose their address', '<a href="#top">x</a><a href="/admin">y</a>', '<a>x</a><a>y</a>'],
  ['images contained in the message', '<img src="cid:a%40b" alt="">', '<img data-cid="a@b" alt="" />'],
  [
    'remote images',
    '<img src="http://a.example/b.png" srcset="x 2x" width="10">',
    '<img data-src="http://a.example/b.png" width="10" />',
  ],
  [
    'images embedded as data URLs',
    '<img src="data:image/png;base64,iVBO Rw0=">',
    '<img src="data:image/png;base64,iVBORw0=" />',
  ],
  ['no SVG images', '<img src="data:image/svg+xml;base64,iVBORw0=">', '<img />'],
  [
    'styles',
    '<p style="color: red; FONT-SIZE:12px !important; position:fixed; width:calc(1px + 2%)">x</p>',
    '<p style="color:red;font-size:12px!important;width:calc(1px + 2%)">x</p>',
  ],
  [
    'a background keeps its colour without its image',
    '<p style="background:#fff url(http://a.example/b) no-repeat">x</p>',
    '<p style="background:#fff no-repeat">x</p>',
  ],
  [
    'tables of newsletters',
    '<table width="600" cellpadding=0 bgcolor="#ffffff"><tr><td align="center" colspan=2>x</td></tr></table>',
    '<table width="600" cellpadding="0" bgcolor="#ffffff"><tr><td align="center" colspan="2">x</td></tr></table>',
  ],
  ['ids and classes get a prefix', '<p class="a b:c d" id="e">x</p>', '<p class="m-a m-d" id="m-e">x</p>'],
  ['forms keep only their text', '<form action=x><input value=1><button>Send</button> now</form>', 'Send now'],
  ['SVG drawings are removed completely', 'a<svg><text>b</text></svg><math><mi>c</mi></math>d', 'ad'],
  [
    'the body becomes an element',
    '<html><head><title>t</title></head><body bgcolor="red">x</body></html>',
    '<div bgcolor="red">x</div>',
  ],
  [
    'Office markup is removed',
    '<!--[if mso]><xml><o:p>y</o:p></xml><![endif]--><p class=MsoNormal>x<o:p>&nbsp;</o:p></p>',
    '<p class="m-MsoNormal">x\u00a0</p>',
  ],
  [
    'unknown elements are removed',
    'a < b && c > d &notit; &#0; &#xD800;',
    'a &lt; b &amp;&amp; c &gt; d ¬it; \ufffd \ufffd',
  ],
])('%s', (_, written, kept) => {
  expect(safe(written)).toBe(kept);
});

test('style sheets are limited to the message, and their names get a prefix', () => {
  const written = `<style>body{margin:0} .a > p:hover, #b, [href], p::before, a:has(b) {color:red} html .c{color:blue}
    @media (max-width:600px){ .a{width:100%!important} } @media print{@import "x";} @font-face{src:url(x)} * {float:left}</style><p>x`;
  expect(safe(written)).toBe(
    `<style>.m-scope{margin:0}
.m-scope .m-a>p:hover,.m-scope #m-b{color:red}
.m-scope .m-c{color:blue}
@media (max-width:600px){.m-scope .m-a{width:100%!important}}
.m-scope *{float:left}</style><div class="m-scope"><p>x</p></div>`,
  );
});

test.each([
  ['https://bank.example/', 'www.bank.example', false],
  ['https://login.bank.example/x', 'https://bank.example', false],
  ['https://bank.example.evil.example/', 'www.bank.example', true],
  ['https://evil.example/', 'https://bank.test/login', true],
  ['https://evil.example/', 'bank.test', true],
  ['https://evil.example/', 'b\u200bank.test', true],
  ['https://evil.example/', 'Your bank', false],
  ['https://evil.example/', 'invoice.pdf', false],
  ['https://shop.co.uk/', 'www.bank.co.uk', true],
  ['mailto:a@evil.example', 'help@bank.test', true],
  ['mailto:a@bank.test', 'help@bank.test', false],
])('a link to %s with the text %s: %s', (href, text, mismatched) => {
  expect(sanitiseHtml(`<a href="${href}">${text}</a>`).mismatchedLink).toBe(mismatched);
  expect(sanitiseHtml(`<a href="${href}"> <b>${text.slice(0, 3)}</b>${text.slice(3)}\n</a>`).mismatchedLink).toBe(
    mismatched,
  );
});

test('HTML over the limits of length or depth is truncated with a warning', () => {
  const long = sanitiseHtml('<p>words'.repeat(50) + 'x'.repeat(2_100_000));
  expect([long.isTruncated, long.html.length < 5_000_000, findUnsafeHtml(long.html.slice(0, 660))]).toEqual([
    true,
    true,
    [],
  ]);
  const deep = sanitiseHtml(`${'<div>'.repeat(2000)}x`);
  expect([deep.isTruncated, deep.html.split('<div>').length - 1]).toEqual([true, 200]);
  expect(sanitiseHtml(`${'<div>'.repeat(300)}words`).html).toContain('words');
  const grown = sanitiseHtml(`<p title='${'"'.repeat(1900)}'>`.repeat(500));
  expect([grown.isTruncated, grown.html.length < 4_200_000, findUnsafeHtml(grown.html)]).toEqual([true, true, []]);
});

const costly: readonly (readonly [string, string])[] = [
  ['20,000 nested elements', '<div>'.repeat(20_000)],
  ['400,000 nested elements', '<b>'.repeat(400_000)],
  ['nested tables', '<table><tr><td>'.repeat(20_000)],
  ['nested paragraphs', '<p><b>'.repeat(40_000)],
  ['100,000 attributes', `<p ${Array.from({ length: 100_000 }, (_, at) => `a${at}=b`).join(' ')}>x`],
  ['one attribute 100,000 times', `<p ${'style=color:red '.repeat(100_000)}>x`],
  ['opened comments', '<!--'.repeat(200_000)],
  ['opened tags', '<'.repeat(1_000_000)],
  ['closing tags without opening ones', '</p>'.repeat(200_000)],
  ['entities', '&amp'.repeat(200_000)],
  ['nested frames', '<iframe>'.repeat(50_000)],
  ['nested drawings', '<svg>'.repeat(50_000)],
  ['nested noscript', '<noscript>'.repeat(50_000)],
  ['brackets in styles', `<p style="width:${'calc('.repeat(1500)}">${`<p style="${'('.repeat(8000)}">`.repeat(10)}`],
  ['a deeply nested style sheet', `<style>${'a{'.repeat(60_000)}</style>`],
  ['deep media', `<style>${'@media x{'.repeat(25_000)}</style>`],
  ['long selectors', `<style>${'a,'.repeat(100_000)}b{color:red}</style>`],
  ['nested selectors', `<style>${':not('.repeat(50_000)}</style>`],
  ['a long address', `<a href="https://a/${'%'.repeat(1_000_000)}">x</a>`],
  ['a long name', `<p class="${'a '.repeat(500_000)}">x`],
  ['a long text of a link', `<a href="https://a.example">${'a.'.repeat(500_000)}</a>`],
];

test.each(costly)('%s are sanitised in a few seconds of processor time', (_, html) => {
  const started = process.threadCpuUsage();
  const { html: safeHtml } = sanitiseHtml(html);
  const { user, system } = process.threadCpuUsage(started);
  expect((user + system) / 1e6).toBeLessThan(6);
  expect(safeHtml.length).toBeLessThan(8_000_000);
});

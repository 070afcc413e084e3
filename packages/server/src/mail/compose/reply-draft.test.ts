import { expect, test } from 'vitest';
import { buildReply, type Original } from './reply-draft.ts';

const person = (address: string): { name: string; address: string } => ({ name: '', address });
const original: Original = {
  messageId: 'm@x.example',
  references: [],
  subject: 'Needle',
  from: [person('cora@x.example')],
  to: [person('shop@example.com'), person('dan@x.example')],
  cc: [person('SHOP@example.com'), person('eve@x.example'), person('')],
  replyTo: [],
  sentAt: null,
  text: 'Hello',
  html: null,
};
const said = { text: 'Yes.', html: null, quotes: true };
const replyTo = (
  more: Partial<Original>,
  kind: Parameters<typeof buildReply>[1] = 'reply',
  ownAddress = 'shop@example.com',
) => buildReply({ ...original, ...more }, kind, said, new Set([ownAddress.toLowerCase()]));
const to = (list: readonly { address: string }[]): string[] => list.map(({ address }) => address);

test.each([
  ['Needle', 'Re: Needle', 'Fwd: Needle'],
  ['re: Needle', 're: Needle', 'Fwd: Needle'],
  ['AW: Re[2]: WG: Needle', 'Re: Needle', 'Fwd: Needle'],
  ['回复：Needle', 'Re: Needle', 'Fwd: Needle'],
  ['Re:\r\n Bcc: x', 'Re:  Bcc: x', 'Fwd: Bcc: x'],
  ['', 'Re: ', 'Fwd: '],
  ['İİ Re: Needle', 'Re: İİ Re: Needle', 'Fwd: İİ Re: Needle'],
])('a reply to %j gets a single prefix', (subject, reply, forward) => {
  expect([replyTo({ subject }).subject.trim(), replyTo({ subject }, 'forward').subject.trim()]).toEqual([
    reply.trim(),
    forward.trim(),
  ]);
});

test('a reply goes to Reply-To, a reply to all leaves out the own address, and a reply to an own message goes to its recipients', () => {
  expect(to(replyTo({ replyTo: [person('list@x.example')] }).to)).toEqual(['list@x.example']);
  const all = replyTo({}, 'replyAll');
  expect([to(all.to), to(all.cc)]).toEqual([['cora@x.example'], ['dan@x.example', 'eve@x.example']]);
  expect(to(replyTo({}, 'reply', 'CORA@x.example').to)).toEqual(['shop@example.com', 'dan@x.example']);
});

test('a long list of references keeps its beginning and its end', () => {
  const references = Array.from({ length: 300 }, (_, index) => `r${index}@x.example`);
  const { references: found } = replyTo({ references });
  expect([found.length, found[0], found.at(-1)]).toEqual([100, 'r0@x.example', 'm@x.example']);
});

test('the original is quoted as text or HTML, and its characters never become markup', () => {
  expect(replyTo({ text: 'One\n> Two' }).text).toBe('Yes.\n\ncora@x.example wrote:\n> One\n>> Two\n');
  const { html } = buildReply(
    { ...original, html: '<p>Hi</p>' },
    'reply',
    { ...said, text: 'a < b' },
    new Set(['shop@example.com']),
  );
  expect(html).toBe(
    '<p>a &lt; b</p><div class="gmail_quote"><p>cora@x.example wrote:</p><blockquote type="cite"><p>Hi</p></blockquote></div>',
  );
});

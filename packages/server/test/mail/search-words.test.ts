import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSearch } from '../../src/mail/search/search-query.ts';
import { ApiError } from '../../src/protocol/api-error.ts';

const text = (value: string, more: object = {}): object => ({
  negated: false,
  kind: 'text',
  text: value,
  phrase: false,
  unfinished: false,
  ...more,
});

const last = { unfinished: true };

test.each([
  [
    'larger:10M -smaller:500kb larger:12',
    [
      { negated: false, kind: 'larger', bytes: 10 * 1024 ** 2 },
      { negated: true, kind: 'smaller', bytes: 500 * 1024 },
      { negated: false, kind: 'larger', bytes: 12 },
    ],
  ],
  [
    'bcc:ada "tag:red" tag: x',
    [text('ada', { kind: 'bcc' }), text('tag:red', { phrase: true }), text('tag:'), text('x', last)],
  ],
  [
    'label:Invoices -Label:"To do"',
    [
      { negated: false, kind: 'label', label: 'Invoices' },
      { negated: true, kind: 'label', label: 'To do' },
    ],
  ],
  ['', []],
  ['  \t ', []],
  ['hello world', [text('hello'), text('world', last)]],
  ['hello world ', [text('hello'), text('world')]],
  ['"hello world" x', [text('hello world', { phrase: true }), text('x', last)]],
  ['-spam -"two words"', [text('spam', { negated: true }), text('two words', { phrase: true, negated: true })]],
  [
    'from:ada To:"Ada B" CC:x subject:re',
    [
      text('ada', { kind: 'from' }),
      text('Ada B', { kind: 'to', phrase: true }),
      text('x', { kind: 'cc' }),
      text('re', { kind: 'subject', ...last }),
    ],
  ],
  [
    'has:attachment -is:read is:STARRED',
    [
      { negated: false, kind: 'has', what: 'attachment' },
      { negated: true, kind: 'is', state: 'read' },
      { negated: false, kind: 'is', state: 'starred' },
    ],
  ],
  [
    'in:"Clients/Ada" filename:a.pdf',
    [{ negated: false, kind: 'in', mailbox: 'Clients/Ada' }, text('a.pdf', { kind: 'filename', ...last })],
  ],
  [
    'before:2026-03-01 after:2024/2/29',
    [
      { negated: false, kind: 'before', time: Date.UTC(2026, 2, 1) },
      { negated: false, kind: 'after', time: Date.UTC(2024, 1, 29) },
    ],
  ],
  ['https://a.example/b 12:30 colour:red', [text('https://a.example/b'), text('12:30'), text('colour:red', last)]],
  ['a"b 5\' - --', [text('a"b'), text("5'"), text('-'), text('-', { negated: true, ...last })]],
  ['constructor:x __proto__', [text('constructor:x'), text('__proto__', last)]],
  ['"a"b', [text('a', { phrase: true }), text('b', last)]],
])('%j', (search, terms) => {
  expect(parseSearch(search)).toEqual(terms);
});

test.each([
  ['is:new', 'is:new is not known; write is:unread, is:read or is:starred.'],
  ['has:link', 'has:link is not known; write has:attachment.'],
  ['from: ada', 'from: needs a value directly after the colon, for example from:ada.'],
  ['subject:""', 'subject: needs a value directly after the colon, for example subject:"order 12".'],
  ['before:yesterday', 'before:yesterday is no day; write before:2026-03-01.'],
  ['after:2026-02-30', 'after:2026-02-30 is no day; write after:2026-03-01.'],
  ['after:0000-00-00', 'after:0000-00-00 is no day; write after:2026-03-01.'],
  [
    'x tag:red',
    'tag: is not supported; these are: from: to: cc: bcc: subject: filename: in: label: has: is: before: after: larger: smaller:. To look for the text itself, put it in quotation marks: "tag:red".',
  ],
  [
    '-older_than:2d',
    'older_than: is not supported; these are: from: to: cc: bcc: subject: filename: in: label: has: is: before: after: larger: smaller:. To look for the text itself, put it in quotation marks: "older_than:2d".',
  ],
  ['larger:10X', 'larger:10X is not a size. Use larger:10M, or a number of bytes.'],
  ['x "no end', 'The phrase "no end has no end; close it with a quotation mark.'],
  ['""', 'A phrase between "" is empty; put words into it, or leave it out.'],
  ['a '.repeat(33), 'It has 33 words; at most 32 are looked for at once.'],
  ['a'.repeat(1001), 'It is longer than 1000 characters; use fewer words.'],
])('%j is refused', (search, why) => {
  const refused = (): unknown => parseSearch(search);
  expect(refused).toThrow(ApiError);
  try {
    refused();
  } catch (error) {
    const { code, details, message } = error as ApiError;
    expect([code, details, message]).toEqual([
      'PARAMETER_INVALID',
      { search: why },
      `The search cannot be read. ${why}`,
    ]);
  }
});

test('any input is parsed or refused, and a parsed search always has words', () => {
  const pieces = fc.constantFrom(
    'from:',
    'is:',
    'unread',
    '"',
    '-',
    ' ',
    'a',
    ':',
    'before:',
    '2026-01-01',
    '\u0000',
    '\ud800',
    'K',
    'ſ',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (typed) => {
      try {
        for (const term of parseSearch(typed.join('')))
          if ('text' in term) expect(term.text.trim() !== '' && term.text.isWellFormed()).toBe(true);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

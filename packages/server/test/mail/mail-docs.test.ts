import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mailWarnings } from '../../src/mail/parse/mail-warnings.ts';
import { parseSearch } from '../../src/mail/search/search-query.ts';
import { mailLimits } from '../../src/protocol/mail-limits.ts';

const page = readFileSync(new URL('../../../../docs/mail.md', import.meta.url), 'utf8');
const rows = (heading: string): string[][] => {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
};

test('docs/mail.md lists exactly the warnings of the code', () => {
  expect(rows('Warnings').map(([name]) => name)).toEqual(Object.values(mailWarnings).map((name) => `\`${name}\``));
});

const values: Readonly<Record<string, string>> = {
  'before:': '2026-03-01',
  'after:': '2026-03-01',
  'larger:': '10M',
  'smaller:': '1',
};

test('its search words are those that are read', () => {
  const named = [
    ...rows('Search words')
      .map(([name]) => name)
      .join(' ')
      .matchAll(/`([a-z]+:[a-z]*)`/g),
  ].map((match) => match[1]!);
  expect(named.length).toBeGreaterThan(10);
  for (const word of named) {
    const written = word.endsWith(':') ? `${word}${values[word] ?? 'x'}` : word;
    expect([word, parseSearch(written).map(({ kind }) => kind)]).toEqual([word, [word.split(':')[0]]]);
  }
});

test('its limits are those of the code', () => {
  const texts = rows('What becomes of a message').map(([, limit]) => limit!.replaceAll(',', ''));
  const {
    rawBytes,
    headerBytes,
    parts,
    depth,
    parseMilliseconds,
    textLength,
    htmlLength,
    dataImageLength,
    addresses,
    snippetLength,
    filenameLength,
  } = mailLimits;
  const numbers = [
    rawBytes / 2 ** 20,
    headerBytes / 1024,
    parts,
    depth,
    parseMilliseconds / 1000,
    textLength,
    htmlLength,
    dataImageLength,
    mailLimits.references,
    addresses,
    snippetLength,
    filenameLength,
  ];
  expect(texts.map((text) => Number.parseInt(text, 10))).toEqual(numbers);
});

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { actionTypes } from '../../src/mail/automation/rule-actions.ts';
import { operatorsByField } from '../../src/mail/automation/rule-conditions.ts';
import { problemCodes } from '../../src/mail/connect/mail-server-problem.ts';
import { mailWarnings } from '../../src/mail/parse/mail-warnings.ts';
import { parseSearch } from '../../src/mail/search/search-query.ts';
import { mailLimits } from '../../src/protocol/mail-limits.ts';

const rows = (path: string, heading: string): string[][] => {
  const page = readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
};

test('docs/mail-safety.md lists exactly the warnings of the code', () => {
  expect(rows('mail-safety.md', 'Warnings').map(([name]) => name)).toEqual(
    Object.values(mailWarnings).map((name) => `\`${name}\``),
  );
});

const values: Readonly<Record<string, string>> = {
  'before:': '2026-03-01',
  'after:': '2026-03-01',
  'larger:': '10M',
  'smaller:': '1',
};

test('docs/mail-search.md lists exactly the search keywords of the code', () => {
  const named = [
    ...rows('mail-search.md', 'Search words')
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

test('docs/mail-import.md states the limits of the code', () => {
  const texts = rows('mail-import.md', 'What becomes of a message').map(([, limit]) => limit!.replaceAll(',', ''));
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

const readCodes = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map((match) => match[1]!);

test('docs/mail-accounts.md lists exactly the problem codes of the code', () => {
  const codes = rows('mail-accounts.md', 'Problems and cures')
    .filter((row) => row.length === 4)
    .flatMap(([code]) => readCodes(code!));
  expect(codes.sort()).toEqual([...problemCodes].sort());
});

test('docs/mail-rules.md lists exactly the conditions and actions of the code', () => {
  expect(
    rows('mail-rules.md', 'Conditions')
      .flatMap(([field]) => readCodes(field!))
      .sort(),
  ).toEqual(Object.keys(operatorsByField).sort());
  const actions = rows('mail-rules.md', 'Actions').flatMap(([action]) => [...action!.matchAll(/"type": "(\w+)"/g)]);
  expect(actions.map((match) => match[1])).toEqual(actionTypes);
});

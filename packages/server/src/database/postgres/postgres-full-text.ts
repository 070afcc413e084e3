import {
  type ConditionalLookup,
  type FullTextColumn,
  type FullTextEntry,
  type FullTextIndex,
  type FullTextTerm,
  stemmedColumns,
} from '../full-text-index.ts';
import { join, type Sql, sql, value } from '../sql.ts';

/** Where a word stands, for those who may not search everywhere: names of files count as text. */
const weights: Readonly<Record<FullTextColumn, string>> = {
  subject: 'A',
  sender: 'B',
  recipients: 'C',
  body: 'D',
  files: 'D',
};
/**
 * The words of a column that is searched by itself stand once more under its sign, which no other word has: then the index alone
 * answers, and the planner knows how many there are. It knows nothing of weights.
 */
const columnPrefixes: Readonly<Partial<Record<FullTextColumn, string>>> = {
  subject: 's/',
  sender: 'f/',
  recipients: 't/',
  files: 'n/',
};
const columnOrder = ['subject', 'sender', 'recipients', 'files', 'body'] as const satisfies readonly FullTextColumn[];
/** So that no phrase reaches from one column into the next. */
const columnGap = 10;
/** What a tsvector holds: later words stand at the last place, and a word has so many places. */
const maxPosition = 16_383;
const maxPositionsPerToken = 200;
/** Tokens whose order means nothing take no place. */
const unorderedToken = /^\p{Co}/u;
/** Bytes of its words and places, of 1,048,575; over that PostgreSQL refuses the row, and with it the message. */
const maxBytes = 1_000_000;

/** `tsvector` under GIN. */
export const postgresFullText: FullTextIndex = {
  insert: (entries) => sql`INSERT INTO _mail_text (id,account,words) VALUES ${join(entries.map(toRow), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE id = ANY(${ids})`,
  replace: (entry, condition) =>
    sql`UPDATE _mail_text SET words=${value('text', toVector(entry))}::tsvector WHERE id=${value('bigint', entry.id)} AND ${condition}`,
  expression: compileExpression,
  // The account is part of the entry, so that the newest of a small account are not searched among all of a large one.
  matchesEmail: (email, { expression }) =>
    sql`EXISTS (SELECT 1 FROM _mail_text w WHERE w.id=${email}.id AND w.account=${email}."accountId" AND w.words @@ ${expression}::tsquery)`,
  // As a scalar subquery it is not joined: a join would look up all matches before the first record is tested.
  matchesKey: (key, _account, expression) =>
    sql`(SELECT w.words @@ ${expression}::tsquery FROM _mail_text w WHERE w.id=${key})`,
  inKeyOrder: null,
  candidateScan: {
    // Testing one record takes about 4 µs. For more than a thousand of an account the planner prefers to sort all of it.
    probeLimit: 1000,
    // With a column that no index has; else PostgreSQL prefers to sort all rows of the group.
    candidates: ({ key, sortColumn, rowsOfGroup }) =>
      sql`SELECT visible_groups.group_key,b.id,b.sort_value,b.unindexed FROM visible_groups
CROSS JOIN LATERAL (SELECT r.${key} AS id,r.${sortColumn} AS sort_value,r._v AS unindexed ${rowsOfGroup}) b`,
    lookUp,
    remainderByKey: (remainder) => {
      const { table, key, isBeyond, isVisible, descending } = remainder;
      const { keys, limit } = lookUp(remainder);
      const matches = sql`SELECT f.id FROM (${keys}) f WHERE ${isBeyond(sql`f.id`)} ORDER BY f.id${descending ? ' DESC' : ''}`;
      return sql`SELECT b.id FROM (${matches} OFFSET 0) f
CROSS JOIN LATERAL (SELECT r.${key} AS id FROM ${table} r WHERE r.${key}=f.id AND ${isVisible} LIMIT 1) b ${limit}`;
    },
  },
};

/** PostgreSQL evaluates a condition without columns once, before it reads the index. */
function lookUp({ expression, isNeeded, maxRecords }: ConditionalLookup): { keys: Sql; limit: Sql } {
  return {
    keys: sql`SELECT w.id FROM _mail_text w WHERE w.words @@ ${expression}::tsquery AND ${isNeeded}`,
    limit: sql`LIMIT ${maxRecords}`,
  };
}

function toRow(entry: FullTextEntry): Sql {
  return sql`(${value('bigint', entry.id)},${value('integer', entry.account)},${value('text', toVector(entry))}::tsvector)`;
}

function toVector(entry: FullTextEntry): string {
  const positions = new Map<string, string[]>();
  let bytes = 0;
  const add = (token: string, position: string): void => {
    const list = positions.get(token);
    const more = list ? 2 : Buffer.byteLength(token) + 8;
    if ((list && list.length >= maxPositionsPerToken) || bytes + more > maxBytes) return;
    bytes += more;
    if (list) list.push(position);
    else positions.set(token, [position]);
  };
  let nextPosition = 1;
  for (const [index, column] of columnOrder.entries()) {
    const prefix = columnPrefixes[column];
    for (const token of entry[column]) {
      const isUnordered = unorderedToken.test(token);
      // A place keeps one weight: the same token of another column needs another place.
      const position = `${isUnordered ? maxPosition - index : Math.min(nextPosition, maxPosition)}${weights[column]}`;
      for (const each of prefix ? [token, prefix + token] : [token]) add(each, position);
      if (!isUnordered) nextPosition += 1;
    }
    nextPosition += columnGap;
  }
  return [...positions].map(([token, list]) => `'${token}':${list.join()}`).join(' ');
}

/** Every word is quoted: none is read as an operator. */
function compileExpression(terms: readonly FullTextTerm[]): string {
  return terms.map((term) => `${term.not ? '!' : ''}(${compileTerm(term)})`).join(' & ');
}

function compileTerm({ columns, words, prefix, stems }: FullTextTerm): string {
  const everywhere = columns.length === Object.keys(weights).length;
  const columnPrefix = (columns.length === 1 && columnPrefixes[columns[0]!]) || '';
  const stemmed = stemmedColumns.filter((each) => columns.includes(each));
  const within = everywhere || columnPrefix !== '' ? '' : joinWeights(columns);
  const phrase = words
    .map((token, index) =>
      formatLexeme(columnPrefix + token, `${prefix && index === words.length - 1 ? '*' : ''}${within}`),
    )
    .join(' <-> ');
  if (stemmed.length === 0) return phrase;
  // A stem may be a word that stands in a name too.
  const stemLexemes = stems.map((stem) =>
    formatLexeme(columnPrefix + stem, columnPrefix !== '' || unorderedToken.test(stem) ? within : joinWeights(stemmed)),
  );
  return [phrase, ...stemLexemes].join(' | ');
}

function joinWeights(columns: readonly FullTextColumn[]): string {
  return [...new Set(columns.map((each) => weights[each]))].join('');
}

function formatLexeme(token: string, marks: string): string {
  return `'${token}'${marks === '' ? '' : `:${marks}`}`;
}

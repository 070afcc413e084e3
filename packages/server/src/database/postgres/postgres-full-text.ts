import {
  type ConditionalLookup,
  type FullTextColumn,
  type FullTextEntry,
  type FullTextIndex,
  type FullTextTerm,
  stemmedColumns,
} from '../full-text-index.ts';
import { join, type Sql, sql, value } from '../sql.ts';

/**
 * The weight of each column, for searches of some columns. There are four weights for five columns: recipients and
 * names of files share one, because both also have a prefix. A search in only one of them uses the prefix.
 */
const weights: Readonly<Record<FullTextColumn, string>> = {
  subject: 'A',
  sender: 'B',
  recipients: 'C',
  body: 'D',
  files: 'C',
};
/**
 * Columns that are often searched on their own: their words are stored a second time with this prefix, which no other word
 * has. The index then answers without a recheck, and the planner can estimate the number of matches, because its statistics
 * do not include weights.
 */
const columnPrefixes: Readonly<Partial<Record<FullTextColumn, string>>> = {
  subject: 's/',
  sender: 'f/',
  recipients: 't/',
  files: 'n/',
};
const columnOrder = ['subject', 'sender', 'recipients', 'files', 'body'] as const satisfies readonly FullTextColumn[];
/** Positions between two columns, so that a phrase cannot match across them. */
const columnGap = 10;
/** Limits of a tsvector: words after the last position share it, and a word has at most this many positions. */
const maxPosition = 16_383;
const maxPositionsPerToken = 200;
/** Tokens without an order; they use up no position. */
const unorderedToken = /^\p{Co}/u;
/** Maximum bytes of words and positions. PostgreSQL refuses a tsvector of more than 1,048,575 bytes. */
const maxBytes = 1_000_000;

/** The full-text index of PostgreSQL: a GIN index on a `tsvector`. */
export const postgresFullText: FullTextIndex = {
  insert: (entries) => sql`INSERT INTO _mail_text (id,account,words) VALUES ${join(entries.map(toRow), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE id = ANY(${ids})`,
  replace: (entry, condition) =>
    sql`UPDATE _mail_text SET words=${value('text', toVector(entry))}::tsvector
WHERE id=${value('bigint', entry.id)} AND ${condition}`,
  expression: compileExpression,
  // The condition on the account keeps a search in a small account from reading the matches of a large one.
  matchesEmail: (email, { expression }) =>
    sql`EXISTS (SELECT 1 FROM _mail_text w
WHERE w.id=${email}.id AND w.account=${email}."accountId" AND w.words @@ ${expression}::tsquery)`,
  // A scalar subquery, because the planner would turn EXISTS into a join that looks up all matches first.
  matchesKey: (key, _account, expression) =>
    sql`(SELECT w.words @@ ${expression}::tsquery FROM _mail_text w WHERE w.id=${key})`,
  inKeyOrder: null,
  candidateScan: {
    // Testing one record takes about 4 µs. For more than 1,000 records the planner prefers to sort the whole account.
    probeLimit: 1000,
    // Selects a column that no index contains; otherwise PostgreSQL prefers to sort all rows of the group.
    candidates: ({ key, sortColumn, rowsOfGroup }) =>
      sql`SELECT visible_groups.group_key,b.id,b.sort_value,b.unindexed FROM visible_groups
CROSS JOIN LATERAL (SELECT r.${key} AS id,r.${sortColumn} AS sort_value,r._v AS unindexed ${rowsOfGroup}) b`,
    lookUp,
    remainderByKey: (remainder) => {
      const { table, key, isBeyond, isVisible, descending } = remainder;
      const { keys, limit } = lookUp(remainder);
      const direction = descending ? ' DESC' : '';
      const matches = sql`SELECT f.id FROM (${keys}) f WHERE ${isBeyond(sql`f.id`)} ORDER BY f.id${direction}`;
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
  const { id, account } = entry;
  return sql`(${value('bigint', id)},${value('integer', account)},${value('text', toVector(entry))}::tsvector)`;
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
      // A position has one weight, so the same token in another column needs another position.
      const position = `${isUnordered ? maxPosition - index : Math.min(nextPosition, maxPosition)}${weights[column]}`;
      for (const each of prefix ? [token, prefix + token] : [token]) add(each, position);
      if (!isUnordered) nextPosition += 1;
    }
    nextPosition += columnGap;
  }
  return [...positions].map(([token, list]) => `'${token}':${list.join()}`).join(' ');
}

/** Quotes every word, so that none is interpreted as an operator. */
function compileExpression(terms: readonly FullTextTerm[]): string {
  return terms.map((term) => `${term.not ? '!' : ''}(${compileTerm(term)})`).join(' & ');
}

function compileTerm({ columns, words, prefix, stems }: FullTextTerm): string {
  const scopes = listScopes(columns);
  const phrases = scopes.map((scope) =>
    words
      .map((token, index) => formatLexeme(token, scope, prefix && index === words.length - 1 ? '*' : ''))
      .join(' <-> '),
  );
  const stemmed = stemmedColumns.filter((each) => columns.includes(each));
  if (stemmed.length === 0) return phrases.join(' | ');
  // A stem may also be a word in a name, which has no stems.
  const stemLexemes = stems.flatMap((stem) =>
    (unorderedToken.test(stem) ? scopes : listScopes(stemmed)).map((scope) => formatLexeme(stem, scope, '')),
  );
  return [...phrases, ...stemLexemes].join(' | ');
}

/** Words with a prefix, or with some weights. */
interface Scope {
  readonly prefix: string;
  /** Empty: any weight. */
  readonly weights: string;
}

/** Where words of some columns are found: in exactly these columns, because a role may be allowed to search no others. */
function listScopes(columns: readonly FullTextColumn[]): Scope[] {
  const [first] = columns;
  const firstPrefix = columns.length === 1 && first && columnPrefixes[first];
  if (firstPrefix) return [{ prefix: firstPrefix, weights: '' }];
  if (columns.length === columnOrder.length) return [{ prefix: '', weights: '' }];
  const separate = columns.filter((each) => columnOrder.some((other) => isWeightShared(each, other, columns)));
  const rest = columns.filter((each) => !separate.includes(each));
  return [
    { prefix: '', weights: [...new Set(rest.map((each) => weights[each]))].join('') },
    ...separate.map((each) => ({ prefix: columnPrefixes[each] ?? '', weights: '' })),
  ];
}

/** Whether another column, which is not searched, has the weight of a column. */
function isWeightShared(column: FullTextColumn, other: FullTextColumn, searched: readonly FullTextColumn[]): boolean {
  return other !== column && weights[other] === weights[column] && !searched.includes(other);
}

function formatLexeme(token: string, { prefix, weights: found }: Scope, mark: string): string {
  const marks = mark + found;
  return `'${prefix}${token}'${marks === '' ? '' : `:${marks}`}`;
}

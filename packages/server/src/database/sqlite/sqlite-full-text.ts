import {
  type ConditionalLookup,
  type FullTextColumn,
  type FullTextEntry,
  type FullTextIndex,
  type FullTextLookup,
  type FullTextTerm,
  stemmedColumns,
} from '../full-text-index.ts';
import { join, type Param, type Sql, sql, value } from '../sql.ts';

const rowKey = sql`_mail_text.rowid`;
const columns: readonly FullTextColumn[] = ['subject', 'sender', 'recipients', 'body', 'files'];

/** FTS5. The account is a word too, so that a search in a small account does not read the entries of a large one. */
export const sqliteFullText: FullTextIndex = {
  insert: (entries) =>
    sql`INSERT INTO _mail_text (rowid,account,${columns.join(',')}) VALUES ${join(entries.map(toRow), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE rowid IN (SELECT value FROM json_each(${ids}))`,
  replace: (entry, condition) =>
    sql`UPDATE _mail_text SET (account,${columns.join(',')})=(SELECT ${toValues(entry)})
WHERE rowid=${value('integer', entry.id)} AND ${condition}`,
  expression: compileExpression,
  matchesEmail: (email, lookup) => sql`${email}.id IN (SELECT rowid FROM _mail_text WHERE ${matches(lookup)})`,
  matchesKey: (key, account, expression) =>
    sql`EXISTS (SELECT 1 FROM _mail_text
WHERE _mail_text MATCH ${singleEmailExpression(account, expression)} AND _mail_text.rowid=${key})`,
  inKeyOrder: { table: sql`_mail_text`, key: rowKey, matches },
  candidateScan: {
    // Testing one record takes about 100 µs: the index goes through its words from the first on.
    probeLimit: 80,
    candidates: ({ table, key, sortColumn, rowsOfGroup }) =>
      sql`SELECT visible_groups.group_key AS group_key,b.${key} AS id,b.${sortColumn} AS sort_value
FROM visible_groups CROSS JOIN ${table} b WHERE b.${key} IN (SELECT r.${key} ${rowsOfGroup})`,
    lookUp: (lookup) => ({
      keys: sql`SELECT rowid AS id FROM _mail_text WHERE ${matches(lookup)}`,
      limit: limitIf(lookup),
    }),
    remainderByKey: (remainder) => {
      const { table, key, isBeyond, isVisible, descending } = remainder;
      return sql`SELECT ${rowKey} AS id FROM _mail_text CROSS JOIN ${table} r ON r.${key}=${rowKey}
WHERE ${matches(remainder)} AND ${isBeyond(rowKey)} AND ${isVisible}
ORDER BY ${rowKey}${descending ? ' DESC' : ''} ${limitIf(remainder)}`;
    },
  },
};

/** SQLite reads the limit first, and visits no row where it is 0. */
function limitIf({ isNeeded, maxRecords }: ConditionalLookup): Sql {
  return sql`LIMIT (SELECT CASE WHEN ${isNeeded} THEN ${maxRecords} ELSE 0 END)`;
}

function matches({ expression, accounts }: FullTextLookup): Sql {
  const names = sql`ifnull(group_concat(concat('"',a,'"'),' OR '),'"0"')`;
  return sql`_mail_text MATCH (SELECT concat('account:(',${names},')',${expression})
FROM (SELECT a FROM (${accounts}) LIMIT 10000))`;
}

/**
 * The expression for one e-mail of a known account. Looking up the account takes as long as looking up a word. So the
 * expression only contains the account if all terms are negations, which need something to exclude from.
 */
function singleEmailExpression(account: Sql, expression: Param): Sql {
  return sql`(CASE WHEN substr(${expression},1,5)=' AND ' THEN substr(${expression},6)
ELSE concat('account:("',${account},'")',${expression}) END)`;
}

function toRow(entry: FullTextEntry): Sql {
  return sql`(${value('integer', entry.id)},${toValues(entry)})`;
}

function toValues(entry: FullTextEntry): Sql {
  const texts = columns.map((name) => sql`${value('text', entry[name].join(' '))}`);
  return join([sql`${value('text', String(entry.account))}`, ...texts], ',');
}

/** Continues the expression for the account. Every word is quoted, so that none is read as an operator. */
function compileExpression(terms: readonly FullTextTerm[]): string {
  const wanted = terms.filter((each) => !each.not).map((each) => ` AND ${compileTerm(each)}`);
  const unwanted = terms.filter((each) => each.not).map((each) => ` NOT ${compileTerm(each)}`);
  return [...wanted, ...unwanted].join('');
}

function compileTerm({ columns: searchedColumns, words, prefix, stems }: FullTextTerm): string {
  const phrase = words.map((word) => `"${word}"`).join(' + ');
  const whole = `{${searchedColumns.join(' ')}} : (${phrase}${prefix ? '*' : ''})`;
  const stemmed = stemmedColumns.filter((each) => searchedColumns.includes(each));
  if (stems.length === 0 || stemmed.length === 0) return `(${whole})`;
  const stemAlternatives = stems.map((stem) => `"${stem}"`).join(' OR ');
  return `((${whole}) OR ({${stemmed.join(' ')}} : (${stemAlternatives})))`;
}

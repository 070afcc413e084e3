import {
  type FullTextColumn,
  type FullTextEntry,
  type FullTextIndex,
  type FullTextTerm,
  stemmedColumns,
} from '../dialect.ts';
import { join, type Param, type Sql, sql, value } from '../sql.ts';

const columns: readonly FullTextColumn[] = ['subject', 'sender', 'recipients', 'body', 'files'];

/** FTS5. The account is a word too, so that a word which all of a big account's mails have costs a small one nothing. */
export const sqliteFullText: FullTextIndex = {
  insert: (entries) =>
    sql`INSERT INTO _mail_text (rowid,account,${columns.join(',')}) VALUES ${join(entries.map(toRow), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE rowid IN (SELECT value FROM json_each(${ids}))`,
  replace: (entry, condition) =>
    sql`UPDATE _mail_text SET (account,${columns.join(',')})=(SELECT ${toValues(entry)}) WHERE rowid=${value('integer', entry.id)} AND ${condition}`,
  expression: compileExpression,
  matchesEmail: (email, expression, accounts) =>
    sql`${email}.id IN (SELECT rowid FROM _mail_text WHERE ${matches(expression, accounts)})`,
  page: { table: sql`_mail_text`, key: sql`_mail_text.rowid`, matches },
  matchesKey: (key, account, expression) =>
    sql`EXISTS (SELECT 1 FROM _mail_text WHERE _mail_text MATCH ${singleEmailExpression(account, expression)} AND _mail_text.rowid=${key})`,
  matchingKeys: (expression, accounts) =>
    sql`SELECT rowid AS id FROM _mail_text WHERE ${matches(expression, accounts)}`,
  // A hundred microseconds each: the index goes through its words from the first on.
  probeLimit: 80,
};

function matches(expression: Param, accounts: Sql): Sql {
  return sql`_mail_text MATCH (SELECT concat('account:(',ifnull(group_concat(concat('"',a,'"'),' OR '),'"0"'),')',${expression}) FROM (SELECT a FROM (${accounts}) LIMIT 10000))`;
}

/** What asks one e-mail, whose account is known: without the account, which would take as long again, unless nothing but negations follows. */
function singleEmailExpression(account: Sql, expression: Param): Sql {
  return sql`(CASE WHEN substr(${expression},1,5)=' AND ' THEN substr(${expression},6) ELSE concat('account:("',${account},'")',${expression}) END)`;
}

function toRow(entry: FullTextEntry): ReturnType<typeof sql> {
  return sql`(${value('integer', entry.id)},${toValues(entry)})`;
}

function toValues(entry: FullTextEntry): Sql {
  const texts = columns.map((name) => sql`${value('text', entry[name].join(' '))}`);
  return join([sql`${value('text', String(entry.account))}`, ...texts], ',');
}

/** Continues an expression that stands before it. Every word is quoted: none is read as an operator. */
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

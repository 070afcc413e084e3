import { type IndexedWords, stemColumns, type WordColumn, type WordIndex, type WordTerm } from '../dialect.ts';
import { join, type Param, type Sql, sql, value } from '../sql.ts';

const columns: readonly WordColumn[] = ['subject', 'sender', 'recipients', 'body', 'files'];

/** FTS5. The account is a word too, so that a word which all of a big account's mails have costs a small one nothing. */
export const sqliteWords: WordIndex = {
  insert: (entries) =>
    sql`INSERT INTO _mail_text (rowid,account,${columns.join(',')}) VALUES ${join(entries.map(rowOf), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE rowid IN (SELECT value FROM json_each(${ids}))`,
  replace: (entry, condition) =>
    sql`UPDATE _mail_text SET (account,${columns.join(',')})=(SELECT ${valuesOf(entry)}) WHERE rowid=${value('integer', entry.id)} AND ${condition}`,
  expression,
  found: (email, expression, accounts) =>
    sql`${email}.id IN (SELECT rowid FROM _mail_text WHERE ${matches(expression, accounts)})`,
  page: { table: sql`_mail_text`, key: sql`_mail_text.rowid`, matches },
  has: (key, account, expression) =>
    sql`EXISTS (SELECT 1 FROM _mail_text WHERE _mail_text MATCH ${alone(account, expression)} AND _mail_text.rowid=${key})`,
  all: (expression, accounts) => sql`SELECT rowid AS id FROM _mail_text WHERE ${matches(expression, accounts)}`,
  // A hundred microseconds each: the index goes through its words from the first on.
  asked: 80,
};

function matches(expression: Param, accounts: Sql): Sql {
  return sql`_mail_text MATCH (SELECT concat('account:(',ifnull(group_concat(concat('"',a,'"'),' OR '),'"0"'),')',${expression}) FROM (SELECT a FROM (${accounts}) LIMIT 10000))`;
}

/** What asks one e-mail, whose account is known: without the account, which would take as long again, unless nothing but negations follows. */
function alone(account: Sql, expression: Param): Sql {
  return sql`(CASE WHEN substr(${expression},1,5)=' AND ' THEN substr(${expression},6) ELSE concat('account:("',${account},'")',${expression}) END)`;
}

function rowOf(entry: IndexedWords): ReturnType<typeof sql> {
  return sql`(${value('integer', entry.id)},${valuesOf(entry)})`;
}

function valuesOf(entry: IndexedWords): Sql {
  const texts = columns.map((name) => sql`${value('text', entry[name].join(' '))}`);
  return join([sql`${value('text', String(entry.account))}`, ...texts], ',');
}

/** Continues an expression that stands before it. Every word is quoted: none is read as an operator. */
function expression(terms: readonly WordTerm[]): string {
  const wanted = terms.filter((each) => !each.not).map((each) => ` AND ${termOf(each)}`);
  const unwanted = terms.filter((each) => each.not).map((each) => ` NOT ${termOf(each)}`);
  return [...wanted, ...unwanted].join('');
}

function termOf({ columns: within, words, prefix, stems }: WordTerm): string {
  const phrase = words.map((word) => `"${word}"`).join(' + ');
  const whole = `{${within.join(' ')}} : (${phrase}${prefix ? '*' : ''})`;
  const stemmed = stemColumns.filter((each) => within.includes(each));
  if (stems.length === 0 || stemmed.length === 0) return `(${whole})`;
  const others = stems.map((stem) => `"${stem}"`).join(' OR ');
  return `((${whole}) OR ({${stemmed.join(' ')}} : (${others})))`;
}

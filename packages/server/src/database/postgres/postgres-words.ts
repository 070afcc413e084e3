import { type IndexedWords, stemColumns, type WordColumn, type WordIndex, type WordTerm } from '../dialect.ts';
import { join, type Sql, sql, value } from '../sql.ts';

/** Where a word stands, for those who may not search everywhere: names of files count as text. */
const weights: Readonly<Record<WordColumn, string>> = {
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
const signs: Readonly<Partial<Record<WordColumn, string>>> = {
  subject: 's/',
  sender: 'f/',
  recipients: 't/',
  files: 'n/',
};
const columnOrder = ['subject', 'sender', 'recipients', 'files', 'body'] as const satisfies readonly WordColumn[];
/** So that no phrase reaches from one column into the next. */
const gap = 10;
/** What a tsvector holds: later words stand at the last place, and a word has so many places. */
const lastPlace = 16_383;
const mostPlaces = 200;
/** Tokens whose order means nothing take no place. */
const marked = /^\p{Co}/u;
/** Bytes of its words and places, of 1,048,575; over that PostgreSQL refuses the row, and with it the message. */
const mostBytes = 1_000_000;

/** `tsvector` under GIN. */
export const postgresWords: WordIndex = {
  insert: (entries) => sql`INSERT INTO _mail_text (id,account,words) VALUES ${join(entries.map(rowOf), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE id = ANY(${ids})`,
  replace: (entry, condition) =>
    sql`UPDATE _mail_text SET words=${value('text', vectorOf(entry))}::tsvector WHERE id=${value('bigint', entry.id)} AND ${condition}`,
  expression,
  // The account stands with the words, so that the newest of a small one are not looked for among all of a big one.
  found: (email, expression) =>
    sql`EXISTS (SELECT 1 FROM _mail_text w WHERE w.id=${email}.id AND w.account=${email}."accountId" AND w.words @@ ${expression}::tsquery)`,
  page: null,
  // In brackets: what stands by itself is not joined, which would look up all before the first is asked.
  has: (key, _account, expression) =>
    sql`(SELECT w.words @@ ${expression}::tsquery FROM _mail_text w WHERE w.id=${key})`,
  all: (expression) => sql`SELECT w.id FROM _mail_text w WHERE w.words @@ ${expression}::tsquery`,
  // 4 µs each. For more than a thousand of an account the planner would rather sort all of it.
  asked: 1000,
};

function rowOf(entry: IndexedWords): Sql {
  return sql`(${value('bigint', entry.id)},${value('integer', entry.account)},${value('text', vectorOf(entry))}::tsvector)`;
}

function vectorOf(entry: IndexedWords): string {
  const places = new Map<string, string[]>();
  let bytes = 0;
  const add = (word: string, at: string): void => {
    const list = places.get(word);
    const more = list ? 2 : Buffer.byteLength(word) + 8;
    if ((list && list.length >= mostPlaces) || bytes + more > mostBytes) return;
    bytes += more;
    if (list) list.push(at);
    else places.set(word, [at]);
  };
  let place = 1;
  for (const [index, column] of columnOrder.entries()) {
    const sign = signs[column];
    for (const word of entry[column]) {
      const isMarked = marked.test(word);
      // A place keeps one weight: the same token of another column needs another place.
      const at = `${isMarked ? lastPlace - index : Math.min(place, lastPlace)}${weights[column]}`;
      for (const each of sign ? [word, sign + word] : [word]) add(each, at);
      if (!isMarked) place += 1;
    }
    place += gap;
  }
  return [...places].map(([word, list]) => `'${word}':${list.join()}`).join(' ');
}

/** Every word is quoted: none is read as an operator. */
function expression(terms: readonly WordTerm[]): string {
  return terms.map((term) => `${term.not ? '!' : ''}(${termOf(term)})`).join(' & ');
}

function termOf({ columns, words, prefix, stems }: WordTerm): string {
  const everywhere = columns.length === Object.keys(weights).length;
  const sign = (columns.length === 1 && signs[columns[0]!]) || '';
  const stemmed = stemColumns.filter((each) => columns.includes(each));
  const within = everywhere || sign !== '' ? '' : weightsOf(columns);
  const phrase = words
    .map((word, index) => lexeme(sign + word, `${prefix && index === words.length - 1 ? '*' : ''}${within}`))
    .join(' <-> ');
  if (stemmed.length === 0) return phrase;
  // A stem may be a word that stands in a name too.
  const others = stems.map((stem) =>
    lexeme(sign + stem, sign !== '' || marked.test(stem) ? within : weightsOf(stemmed)),
  );
  return [phrase, ...others].join(' | ');
}

function weightsOf(columns: readonly WordColumn[]): string {
  return [...new Set(columns.map((each) => weights[each]))].join('');
}

function lexeme(word: string, marks: string): string {
  return `'${word}'${marks === '' ? '' : `:${marks}`}`;
}

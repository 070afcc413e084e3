import type { IndexedWords, WordColumn, WordIndex, WordTerm } from '../dialect.ts';
import { join, type Sql, sql, value } from '../sql.ts';

/** Four weights stand for four columns; the words of file names have a sign of their own, which no other word has. */
const weights: Readonly<Record<Exclude<WordColumn, 'files'>, string>> = {
  subject: 'A',
  sender: 'B',
  recipients: 'C',
  body: 'D',
};
const fileSign = '/';
const accountSign = '@';
/** So that no phrase reaches from one column into the next. */
const gap = 10;
/** What a tsvector holds: later words stand at the last place, and a word has so many places. */
const lastPlace = 16_383;
const mostPlaces = 200;

/** `tsvector` under GIN. The account is a word too, so that a word which many mails of others have costs nothing. */
export const postgresWords: WordIndex = {
  table: '_mail_text',
  key: 'id',
  leads: false,
  insert: (entries) => sql`INSERT INTO _mail_text (id,words) VALUES ${join(entries.map(rowOf), ',')}`,
  remove: (ids) => sql`DELETE FROM _mail_text WHERE id = ANY(${ids})`,
  expression,
  matches: (alias, expression, accounts) => {
    const words = sql`${`"${alias}"`}.words @@ ${expression}::tsquery`;
    if (!accounts) return words;
    const own = sql`(SELECT coalesce(string_agg(concat('''@',a,''''),' | '),'''@''')::tsquery FROM (${accounts}) o(a))`;
    return sql`${words} AND ${`"${alias}"`}.words @@ ${own}`;
  },
};

function rowOf(entry: IndexedWords): Sql {
  return sql`(${value('bigint', entry.id)},${value('text', vectorOf(entry))}::tsvector)`;
}

function vectorOf(entry: IndexedWords): string {
  const places = new Map<string, string[]>([[`${accountSign}${entry.account}`, []]]);
  let place = 1;
  const add = (words: readonly string[], sign: string, weight: string): void => {
    for (const word of words) {
      const at = `${Math.min(place, lastPlace)}${weight}`;
      const list = places.get(sign + word);
      if (!list) places.set(sign + word, [at]);
      else if (list.length < mostPlaces) list.push(at);
      place += 1;
    }
    place += gap;
  };
  add(entry.subject, '', weights.subject);
  add(entry.sender, '', weights.sender);
  add(entry.recipients, '', weights.recipients);
  add(entry.files, fileSign, 'D');
  add(entry.body, '', weights.body);
  return [...places].map(([word, list]) => (list.length === 0 ? `'${word}'` : `'${word}':${list.join()}`)).join(' ');
}

/** Every word is quoted: none is read as an operator. */
function expression(terms: readonly WordTerm[]): string {
  return terms.map((term) => `${term.not ? '!' : ''}(${termOf(term)})`).join(' & ');
}

function termOf({ columns, words, prefix }: WordTerm): string {
  const plain = columns.filter((each) => each !== 'files').map((each) => weights[each as keyof typeof weights]);
  const phrase = (sign: string, weight: string): string =>
    words
      .map((word, index) => {
        const marks = `${prefix && index === words.length - 1 ? '*' : ''}${weight}`;
        return `'${sign}${word}'${marks === '' ? '' : `:${marks}`}`;
      })
      .join(' <-> ');
  const parts = [
    ...(plain.length > 0 ? [phrase('', plain.length === 4 ? '' : plain.join(''))] : []),
    ...(columns.includes('files') ? [phrase(fileSign, '')] : []),
  ];
  return parts.map((each) => `(${each})`).join(' | ');
}

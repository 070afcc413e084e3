/** The text of statements for traces, without values. */
import { LruMap } from '../lru-map.ts';

/** Longer texts are cut. */
const maxLength = 2000;
const shapes = new LruMap<StatementShape>({
  entries: 1000,
  bytes: 4 * 1024 * 1024,
  keyLength: 16 * 1024,
  sizeOf: 2 * maxLength,
});

export interface StatementShape {
  /** The statement with `?` for texts and numbers. Placeholders of parameters stay. */
  readonly text: string;
  /** The first word, such as SELECT. */
  readonly operation: string;
  /** The first table; null: the statement names none. */
  readonly table: string | null;
}

/** Matches names in quotes, texts (with `E''` and `$$ $$` of PostgreSQL), and numbers that are not part of a name or placeholder. */
const parts =
  /"(?:[^"]|"")*"|\bE'(?:\\[\s\S]|''|[^'\\])*'|'(?:''|[^'])*'|\$(\w*)\$[\s\S]*?\$\1\$|(?<![\w$?:@.])\d[\d.]*(?:e[+-]?\d+)?/gi;

/** Returns the shape of a statement. */
export function readStatementShape(statement: string): StatementShape {
  const known = shapes.get(statement);
  if (known) return known;
  const cut = statement.length > 2 * maxLength;
  const beginning = cut ? statement.slice(0, 2 * maxLength) : statement;
  const plain = beginning.replace(parts, (part) => (part.startsWith('"') ? part : '?'));
  // A quoted text that begins before the cut has no closing quote, so it was not replaced.
  const open = cut ? plain.indexOf("'") : -1;
  const text = (open < 0 ? plain : plain.slice(0, open)).slice(0, maxLength);
  const shape = {
    text: cut || text.length < plain.length ? `${text}…` : text,
    operation: /^\W*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'STATEMENT',
    table: /\b(?:FROM|INTO|UPDATE)\s+"?([A-Za-z_]\w{0,80})"?/i.exec(text)?.[1] ?? null,
  };
  shapes.set(statement, shape);
  return shape;
}

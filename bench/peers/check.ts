/** Checks that a server answers right before it is measured. */
import { isDeepStrictEqual } from 'node:util';
import { answerTo, questionsOf } from './questions.ts';
import type { Kind, Question, Row, Subject } from './subject.ts';

/** Asks one question. @throws if the status is not the expected one. */
async function ask({ served, headers, dialect }: Subject, question: Question): Promise<unknown> {
  const call = dialect.call(question)!;
  const response = await fetch(`http://127.0.0.1:${served.port}${call.path}`, {
    method: call.method,
    headers: { ...headers, ...(call.body !== undefined && { 'content-type': 'application/json' }) },
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
  });
  const text = await response.text();
  if (response.status !== expectedStatus({ dialect }, question.kind))
    throw new Error(`${call.method} ${call.path}: ${response.status} ${text.slice(0, 300)}`);
  return text === '' ? null : (JSON.parse(text) as unknown);
}

export function expectedStatus({ dialect }: Pick<Subject, 'dialect'>, kind: Kind): number {
  return kind === 'create' ? dialect.createdStatus : 200;
}

function compare(question: Question, found: Row[], expected: Row[]): void {
  const order = (rows: Row[]): Row[] =>
    question.kind === 'search' ? [...rows].sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1)) : rows;
  const part = found.map((row, index) =>
    Object.fromEntries(Object.keys(expected[index] ?? {}).map((name) => [name, row[name as keyof Row]])),
  );
  if (found.length !== expected.length || !isDeepStrictEqual(order(part), order(expected)))
    throw new Error(
      `wrong answer to ${JSON.stringify(question)}: ${JSON.stringify(part.slice(0, 3))} (${found.length} rows) instead of ${JSON.stringify(expected.slice(0, 3))} (${expected.length} rows)`,
    );
}

/** @throws if a reply is not what the seed data says, or a write cannot be read afterwards. */
export async function check(subject: Subject, kind: Kind): Promise<void> {
  const { dialect } = subject;
  for (const question of questionsOf(kind, 5)) {
    const reply = await ask(subject, question);
    const expected = answerTo(question);
    if (expected) compare(question, dialect.rows(kind, reply), expected);
    if (question.kind !== 'update') continue;
    const read = await ask(subject, { kind: 'get', post: question.post });
    compare({ kind: 'get', post: question.post }, dialect.rows('get', read), [{ views: question.views }]);
  }
  if (kind === 'create') await checkCreated(subject);
}

/** Creates a post that is the newest of all, and reads it as the first of a list. */
async function checkCreated(subject: Subject): Promise<void> {
  const post = { title: 'Newest', body: 'b'.repeat(220), views: 1, published: true, posted: 2_000_000, author: 7 };
  await ask(subject, { kind: 'create', post });
  const rows = subject.dialect.rows('author', await ask(subject, { kind: 'author', below: 6000 }));
  const { title, author } = rows[0] ?? {};
  if (title !== post.title || author !== 'User 7') throw new Error(`a created post is not listed: ${title}, ${author}`);
}

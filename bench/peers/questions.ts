/** The questions of the comparison, and the right answers to them, computed from the seed data. */
import { randomFrom } from '../load.ts';
import { postAt, postCount, userAt, userCount } from '../seed-data.ts';
import type { Kind, PostRow, Question, Row } from './subject.ts';

export const kinds: readonly Kind[] = ['get', 'list', 'author', 'search', 'create', 'update'];

export const titles: Readonly<Record<Kind, string>> = {
  get: 'get by id',
  list: 'list of 20, filter and sort',
  author: 'list of 20 with author',
  search: 'search in 1,000 authors',
  create: 'create',
  update: 'update by id',
};

/** Post `index`, from 1 on. */
export function postRow(index: number): PostRow {
  return { ...postAt(index), posted: index };
}

export const authorRow = userAt;

/** Different questions of one kind, the same in each run. */
export function questionsOf(kind: Kind, count: number): Question[] {
  const random = randomFrom(20_261_124 + kinds.indexOf(kind));
  const make: Readonly<Record<Kind, () => Question>> = {
    get: () => ({ kind: 'get', post: 1 + random(postCount) }),
    list: () => ({ kind: 'list', below: 5000 + random(5000) }),
    author: () => ({ kind: 'author', below: 5000 + random(5000) }),
    search: () => ({ kind: 'search', word: `user ${100 + random(900)}` }),
    create: () => ({ kind: 'create', post: { ...postRow(1 + random(postCount)), posted: 0 } }),
    update: () => ({ kind: 'update', post: 1 + random(postCount), views: random(10_000) }),
  };
  return Array.from({ length: count }, make[kind]);
}

/** The newest 20 published posts with fewer views than `below`. */
function listed(below: number): PostRow[] {
  const found: PostRow[] = [];
  for (let index = postCount; found.length < 20; index -= 1) {
    const post = postRow(index);
    if (post.published && post.views < below) found.push(post);
  }
  return found;
}

/** The answer to a question that reads, in order; null for writes, whose effect is read afterwards. */
export function answerTo(question: Question): Row[] | null {
  switch (question.kind) {
    case 'get': {
      const { title, views } = postRow(question.post);
      return [{ title, views }];
    }
    case 'list':
      return listed(question.below).map(({ title, views }) => ({ title, views }));
    case 'author':
      return listed(question.below).map(({ title, views, author }) => ({
        title,
        views,
        author: authorRow(author).name,
      }));
    case 'search':
      return Array.from({ length: userCount }, (_, index) => authorRow(index + 1).name)
        .filter((name) => name.toLowerCase().includes(question.word))
        .map((name) => ({ name }));
    default:
      return null;
  }
}

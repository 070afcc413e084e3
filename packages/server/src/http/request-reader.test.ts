import { expect, test } from 'vitest';
import { parseQueryText } from '../protocol/query-text.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { readParameters, readRecordRequest } from './request-reader.ts';
import { parseRoute } from './route.ts';

const outcome = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return (error as Error).message;
  }
};

const keys = ['1', '17', 'a-b_c', '-', '[1,2]', '%5B1%5D', 'a%20b', 'a+b', '', '0', '1,2', 'é'];
const rests = [
  '',
  'fields=title',
  'fields=title&appends=author',
  'filterByTk=1',
  'filterByTk=0',
  'filterByTk[]=2',
  'filterByTk[0]=2&filterByTk[1]=3',
  'filter%42yTk=5',
  'filter={"a":1}',
  'filter=%7B%22a%22%3A1%7D',
  'nonsense=1',
  'withDeleted=true',
  '&',
];

test.each(rests)('a key as the first parameter, before %j, gives the same request as the full parser', (rest) => {
  const route = parseRoute('/api/posts:get');
  for (const key of keys)
    for (const query of [`filterByTk=${key}${rest && `&${rest}`}`, `filterByTk=${key}&${rest}`, rest]) {
      const alone = outcome(() => normaliseRequest('get', parseQueryText(query), true));
      // Twice: the second time from the cache.
      for (const _ of [1, 2]) expect(outcome(() => readRecordRequest(route, query, undefined, false))).toEqual(alone);
    }
});

test.each(rests)('a key in the path, with %j, gives the same request as the full parser', (query) => {
  for (const key of ['1', '[1]', 'a%20b', 'a,b', '0']) {
    const route = parseRoute(`/api/posts:get/${key}`);
    const alone = outcome(() =>
      normaliseRequest('get', readParameters(route, query, undefined, false), true, route.key !== null),
    );
    for (const _ of [1, 2]) expect(outcome(() => readRecordRequest(route, query, undefined, false))).toEqual(alone);
  }
});

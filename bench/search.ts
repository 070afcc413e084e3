/**
 * Measures searches without and with search indexes: the first page of rare and frequent words, totals, the time to build the
 * indexes, what they cost writes, and memory.
 *
 *     npm run bench:search -- [--engine sqlite|postgres] [--rows 1000000]
 */
import { parseArgs } from 'node:util';
import { Api, inBatches } from './api.ts';
import { peakMegabytes, residentMegabytes, type Served } from './child.ts';
import { type Engine, places } from './places.ts';
import { account, startServer } from './server-under-test.ts';

const { values: options } = parseArgs({
  options: { engine: { type: 'string' }, rows: { type: 'string', default: '1000000' } },
});
const rows = Number(options.rows);
const syllables =
  'ba con di er fi gra hu in jo ka lo men na or pre qui ra sta tion un ver wi ex ly za al ed ing the mo'.split(' ');
const repetitions = 100;
/** A request that takes longer than this is repeated less often. */
const slowMilliseconds = 200;
const slowRepetitions = 2;
const writes = 200;

/** A linear congruential generator, so that every run has the same texts. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const vocabularyRandom = createRandom(12_345);
const vocabulary = Array.from({ length: 20_000 }, () =>
  Array.from(
    { length: 1 + Math.floor(vocabularyRandom() * 3) },
    () => syllables[Math.floor(vocabularyRandom() * syllables.length)],
  ).join(''),
);

/** A post whose words are distributed like those of a language: few words are in most texts. */
function makePost(index: number): { title: string; body: string; views: number } {
  const random = createRandom(index * 7919);
  const text = (length: number): string =>
    Array.from({ length }, () => vocabulary[Math.floor(vocabulary.length * random() ** 3)]).join(' ');
  const planted = [
    ...(index % 10 === 3 ? ['frequentword'] : []),
    ...(index % (rows / 10) === 7 ? ['rarezebra'] : []),
    ...(index % (rows / 10) === 17 ? ['mentiongrament'] : []),
    ...(index > 0.9 * rows ? ['latelyword'] : []),
    ...(index % 1000 === 5 ? ['Grüße'] : []),
  ];
  return { title: text(5), body: [text(32), ...planted].join(' '), views: (index * 7919) % 10_000 };
}

const searches: Readonly<Record<string, string>> = {
  '10 records, rare trigrams': 'search=rarezebra',
  '10 records, frequent trigrams': 'search=mentiongrament',
  'one in ten': 'search=frequentword',
  'one in ten, newest first': 'search=frequentword&sort=-createdAt',
  '10 records, newest first': 'search=rarezebra&sort=-createdAt',
  'the last tenth': 'search=latelyword',
  'one in 1,000, not ASCII': `search=${encodeURIComponent('grüße')}`,
  'no record': 'search=xqzxqzxqz',
  'two characters': 'search=ba',
  '10 records, with their number': 'search=rarezebra&count=exact',
  'one in ten, with their number': 'search=frequentword&count=exact',
};

async function measureOne(api: Api, query: string): Promise<string> {
  const times: number[] = [];
  const path = `posts:list?fields=id,title&pageSize=20&${query.includes('count') ? '' : 'count=none&'}${query}`;
  for (let index = 0; index < repetitions; index += 1) {
    const from = performance.now();
    try {
      await api.call('GET', path);
    } catch (error) {
      if (!String(error).includes('503')) throw error;
      return 'refused after 5 s';
    }
    times.push(performance.now() - from);
    if (index + 1 >= slowRepetitions && (times.at(-1) ?? 0) > slowMilliseconds) break;
  }
  const sorted = times.sort((one, other) => one - other);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`;
}

async function measureSearches(label: string, api: Api, served: Served): Promise<void> {
  for (const [name, query] of Object.entries(searches))
    console.log(
      `${label} | ${name} | ${await measureOne(api, query)} | ${residentMegabytes(served.child)?.toFixed(0)} MB`,
    );
}

/** Single creates and updates, one after the other, and creates of 1,000 records. */
async function measureWrites(label: string, api: Api, collection: string): Promise<void> {
  const time = async (work: (index: number) => Promise<unknown>, count: number): Promise<number> => {
    const from = performance.now();
    for (let index = 0; index < count; index += 1) await work(index);
    return (performance.now() - from) / count;
  };
  const create = await time((index) => api.post(`${collection}:create`, makePost(index)), writes);
  const update = await time(
    (index) => api.post(`${collection}:update?filterByTk=${1 + index}`, { body: makePost(index + 1).body }),
    writes,
  );
  const bulk = await time(
    (index) =>
      api.post(
        `${collection}:create`,
        Array.from({ length: 1000 }, (_, each) => makePost(index * 1000 + each)),
      ),
    10,
  );
  console.log(
    `${label} | create ${create.toFixed(2)} ms, update ${update.toFixed(2)} ms, 1,000 creates ${bulk.toFixed(0)} ms`,
  );
}

async function build(api: Api): Promise<number> {
  const from = performance.now();
  await api.post('collections:update?filterByTk=posts', { options: { search: ['title', 'body'] } });
  for (;;) {
    const { data } = (await api.call('GET', 'collections:get?filterByTk=posts')) as unknown as {
      data: { searchIndexes: readonly { state: string; problem?: string }[] };
    };
    const states = data.searchIndexes.map(({ state, problem }) => problem ?? state);
    if (states.every((each) => each === 'ready')) return (performance.now() - from) / 1000;
    const problem = states.find((each) => each !== 'ready' && each !== 'building');
    if (problem !== undefined) throw new Error(problem);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function measure(engine: Engine): Promise<void> {
  const place = await places(engine);
  if (!place) return;
  const served = await startServer(place.dataDir, place.serverUrl);
  try {
    const api = new Api(served.port);
    api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'body', type: 'text' },
      { name: 'views', type: 'integer', index: true },
    ];
    const indexes = { indexes: [{ fields: ['createdAt'] }] };
    for (const [name, search] of [
      ['posts', []],
      ['plainPosts', []],
      ['indexedPosts', ['title', 'body']],
    ] as const)
      await api.post('collections:create', { name, fields, options: { ...indexes, search } });
    const from = performance.now();
    await inBatches(rows, makePost, (posts) => api.post('posts:create', posts));
    console.log(`${engine}: ${rows} posts in ${((performance.now() - from) / 1000).toFixed(0)} s`);
    for (const name of ['plainPosts', 'indexedPosts', 'plainPosts', 'indexedPosts'])
      await measureWrites(`${engine}, ${name}`, api, name);
    await measureSearches(`${engine}, scan`, api, served);
    console.log(`${engine}: indexes built in ${(await build(api)).toFixed(1)} s`);
    await measureSearches(`${engine}, index`, api, served);
    console.log(`${engine}: at most ${peakMegabytes(served.child)?.toFixed(0)} MB`);
  } finally {
    await served.stop();
    await place.remove();
  }
}

const engines: readonly Engine[] = options.engine ? [options.engine as Engine] : ['sqlite', 'postgres'];
for (const engine of engines) await measure(engine);

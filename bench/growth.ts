/**
 * Measures how the server behaves as its data grow, on SQLite: records, collections, applications, readers.
 *
 *     npm run bench:growth -- [--only records,collections,applications,readers] [--sizes 10000,1000000] [--large]
 *
 * `--large` adds 10,000,000 records, 5,000 collections and 1,000 applications, which take long to be filled.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { caseNames, type Dimension, dimensions, type Growth, grow } from './growth-cases.ts';

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, sizes: { type: 'string' }, large: { type: 'boolean', default: false } },
});

const usual: Readonly<Record<Dimension, readonly number[]>> = {
  records: [10_000, 1_000_000],
  collections: [10, 1000],
  applications: [1, 100],
  readers: [0, 1, 2, 4, 8],
};
const large: Readonly<Record<Dimension, readonly number[]>> = {
  records: [10_000_000],
  collections: [5000],
  applications: [1000],
  readers: [],
};

interface Report {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly rows: readonly Growth[];
}

const file = join(import.meta.dirname, 'results', `growth-${new Date().toISOString().slice(0, 10)}`);

function markdown({ machine, rows }: Report): string {
  const head = [
    'grows',
    'size',
    ...caseNames.map((name) => `${name}: 1/s, p99 ms, CPU µs`),
    'start ms',
    'idle MB',
    'after MB',
    'fill s',
  ];
  const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
  const lines = rows.map((row) => [
    row.dimension,
    whole(row.size),
    ...caseNames.map((name) => {
      const each = row.cases[name];
      if (!each) return 'refused: too slow';
      return `${whole(each.perSecond)}, ${each.p99.toFixed(1)}, ${whole(each.cpuMicroseconds)}`;
    }),
    ...[row.startMilliseconds, row.idleMegabytes, row.afterMegabytes, row.fillSeconds].map(whole),
  ]);
  return [
    `${machine.cores} cores (${machine.cpu}), Node.js ${machine.node}, SQLite, 32 connections (search: 2)`,
    '',
    ...[head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`),
    '',
  ].join('\n');
}

/** Replaces one row in the file of the day. */
function keep(row: Growth): Report {
  const before: readonly Growth[] = existsSync(`${file}.json`)
    ? (JSON.parse(readFileSync(`${file}.json`, 'utf8')) as Report).rows
    : [];
  const others = before.filter(({ dimension, size }) => dimension !== row.dimension || size !== row.size);
  const rows = [...others, row].sort(
    (a, b) => dimensions.indexOf(a.dimension) - dimensions.indexOf(b.dimension) || a.size - b.size,
  );
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version };
  const report = { machine, rows };
  writeFileSync(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(`${file}.md`, markdown(report));
  return report;
}

const chosen = (options.only?.split(',') ?? dimensions) as readonly Dimension[];
for (const dimension of chosen) {
  if (!dimensions.includes(dimension)) throw new Error(`${dimension} is none of ${dimensions.join(', ')}`);
  const sizes = options.sizes?.split(',').map(Number) ?? [
    ...usual[dimension],
    ...(options.large ? large[dimension] : []),
  ];
  for (const size of sizes) {
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-growth-'));
    try {
      console.log(markdown(keep(await grow(folder, dimension, size))));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
process.exit(0);

/** Keeps the results of a day in one file, product by product, and writes them as a table. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Figure } from './measure.ts';
import { kinds, titles } from './questions.ts';
import type { Kind } from './subject.ts';

/** Start and memory of one server. */
export interface Process {
  /** The median of three starts on the filled store, to the first good reply. */
  readonly startMilliseconds: number;
  /** Resident memory three seconds after a start, of the server's processes. */
  readonly idleMegabytes: number;
  readonly afterMegabytes: number;
}

export interface Comparison {
  readonly name: string;
  readonly version: string;
  readonly runtime: string;
  readonly engine: string;
  readonly writes: string;
  readonly configuration: string;
  readonly measured: string;
  readonly own: Process & { readonly commit: string };
  readonly peer: Process;
  readonly figures: readonly Figure[];
}

export interface Skipped {
  readonly name: string;
  readonly skipped: string;
}

export type Result = Comparison | Skipped;

export interface Report {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly results: readonly Result[];
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

function cell(figures: readonly Figure[], kind: Kind): string {
  const figure = figures.find((each) => each.kind === kind);
  return figure
    ? `${whole(figure.own.perSecond)} : ${whole(figure.peer.perSecond)} = **${figure.ratio.toFixed(1)}**`
    : '–';
}

function table(results: readonly Comparison[]): string[] {
  const head = [
    'compared with',
    'engine of both',
    ...kinds.map((kind) => titles[kind]),
    'start, ms',
    'idle, MB',
    'after the run, MB',
  ];
  const rows = results.map(({ name, version, engine, figures, own, peer }) => [
    `${name} ${version}`,
    engine,
    ...kinds.map((kind) => cell(figures, kind)),
    `${whole(own.startMilliseconds)} : ${whole(peer.startMilliseconds)}`,
    `${whole(own.idleMegabytes)} : ${whole(peer.idleMegabytes)}`,
    `${whole(own.afterMegabytes)} : ${whole(peer.afterMegabytes)}`,
  ]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
}

function details(results: readonly Comparison[]): string[] {
  const head = ['product', 'case', 'this server: p50, p99 ms; CPU µs', 'the other: p50, p99 ms; CPU µs'];
  const rows = results.flatMap(({ name, figures }) =>
    figures.map(({ kind, own, peer }) => [
      name,
      titles[kind],
      ...[own, peer].map((side) => `${side.p50.toFixed(1)}, ${side.p99.toFixed(1)}; ${whole(side.cpuMicroseconds)}`),
    ]),
  );
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
}

export function markdown(date: string, { machine, results }: Report): string {
  const measured = results.filter((result) => 'figures' in result);
  const skipped = results.filter((result) => 'skipped' in result);
  return `${[
    `# Comparison of ${date}`,
    '',
    `Machine: ${machine.cores} cores (${machine.cpu}); the load generator runs on the same cores. This server runs on Node.js ${machine.node}. 100,000 posts, 1,000 authors, 32 connections, authenticated, closed loop.`,
    '',
    'Requests per second of this server : of the other = the median of the ratios of neighbouring turns.',
    '',
    ...table(measured),
    '',
    ...details(measured),
    '',
    '| product | runtime | writes | configuration | this server |',
    '| --- | --- | --- | --- | --- |',
    ...measured.map(
      ({ name, version, runtime, writes, configuration, own }) =>
        `| ${name} ${version} | ${runtime} | ${writes} | ${configuration} | ${own.commit} |`,
    ),
    ...(skipped.length === 0 ? [] : ['', ...skipped.map(({ name, skipped }) => `Skipped: ${name}: ${skipped}`)]),
  ].join('\n')}\n`;
}

/** Replaces the result of one product in the file of the day; a product that was skipped keeps an older result of the day. */
export function keep(folder: string, date: string, machine: Report['machine'], result: Result): Report {
  const file = `${folder}/peers-${date}.json`;
  const before: Report = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Report)
    : { machine, results: [] };
  const older = before.results.find(({ name }) => name === result.name);
  const next = 'skipped' in result && older && 'figures' in older ? older : result;
  const report = { machine, results: [...before.results.filter(({ name }) => name !== result.name), next] };
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(`${folder}/peers-${date}.md`, markdown(date, report));
  return report;
}

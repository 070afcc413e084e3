/** Measures two servers in alternating turns. While one is measured, the processes of the other are stopped. */
import { groupMicroseconds, signalAll } from '../child.ts';
import { type LoadResult, requestText, runLoad } from '../load.ts';
import { check, expectedStatus } from './check.ts';
import { questionsOf } from './questions.ts';
import type { Kind, Subject } from './subject.ts';

export interface Pace {
  readonly rounds: number;
  readonly milliseconds: number;
  readonly firstWarmMilliseconds: number;
}

export interface Side {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server's processes for one request; not that of PostgreSQL. */
  readonly cpuMicroseconds: number;
}

export interface Figure {
  readonly kind: Kind;
  readonly own: Side;
  readonly peer: Side;
  /** The median of the ratios of neighbouring turns, of this server to the other. */
  readonly ratio: number;
}

const clients = 32;
const differentRequests = 4000;
const warmMilliseconds = 200;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

function requestsOf({ dialect, headers }: Subject, kind: Kind): string[] {
  return questionsOf(kind, differentRequests).map((question) => {
    const { method, path, body } = dialect.call(question)!;
    return requestText(method, path, headers, body);
  });
}

/** One turn: continues the server, measures it, stops it. */
async function turn(
  subject: Subject,
  kind: Kind,
  requests: readonly string[],
  pace: Pace,
  warm: number,
): Promise<Side> {
  const { served } = subject;
  signalAll(served.child, 'SIGCONT');
  const before = groupMicroseconds(served.child);
  const result: LoadResult = await runLoad({
    port: served.port,
    clients,
    warmMilliseconds: warm,
    milliseconds: pace.milliseconds,
    requests,
    expect: expectedStatus(subject, kind),
  });
  const spent = groupMicroseconds(served.child) - before;
  signalAll(served.child, 'SIGSTOP');
  const requested = (result.count * (pace.milliseconds + warm)) / pace.milliseconds;
  return { perSecond: result.perSecond, p50: result.p50, p99: result.p99, cpuMicroseconds: spent / requested };
}

/** Checks the answers of both, warms both, and measures them; null if the other has no such feature. */
export async function compare(own: Subject, peer: Subject, kind: Kind, pace: Pace): Promise<Figure | null> {
  if (peer.dialect.call(questionsOf(kind, 1)[0]!) === null) return null;
  for (const subject of [own, peer]) {
    signalAll(subject.served.child, 'SIGCONT');
    await check(subject, kind);
    signalAll(subject.served.child, 'SIGSTOP');
  }
  const sides = [peer, own].map((subject) => ({ subject, requests: requestsOf(subject, kind), results: [] as Side[] }));
  for (let round = 0; round <= pace.rounds; round += 1)
    for (const { subject, requests, results } of sides) {
      const warm = round === 0 ? pace.firstWarmMilliseconds : warmMilliseconds;
      const result = await turn(subject, kind, requests, pace, warm);
      if (round > 0) results.push(result);
    }
  const [theirs, ours] = sides.map(({ results }) => results) as [Side[], Side[]];
  const ratio = median(ours.map((side, round) => side.perSecond / theirs[round]!.perSecond));
  const middle = (results: Side[]): Side =>
    [...results].sort((a, b) => a.perSecond - b.perSecond)[results.length >> 1]!;
  return { kind, own: middle(ours), peer: middle(theirs), ratio };
}

/**
 * The processor time in milliseconds that this process uses, in all its threads, until the work is done. Other
 * processes do not
 * affect it.
 */
export async function measureProcessorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * The median times of two kinds of work in milliseconds, measured alternately, so that a busy machine slows both
 * equally.
 */
export async function compareDurations(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  rounds = 9,
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1)
    for (const [index, work] of [one, other].entries()) {
      const began = performance.now();
      await work();
      times[index]!.push(performance.now() - began);
    }
  const [first, second] = times.map((each) => each.sort((a, b) => a - b)[rounds >> 1]!);
  return [first!, second!];
}

/**
 * The shortest time of several rounds of some work in milliseconds: other work of the machine makes the other rounds
 * longer.
 */
export async function measureFastest(round: () => Promise<number>, rounds = 4): Promise<number> {
  const times: number[] = [];
  for (let made = 0; made < rounds; made += 1) times.push(await round());
  return Math.min(...times);
}

/** The medians of two kinds of work in milliseconds, taken in turns so that a busy machine slows both alike. */
export async function compared(
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

import { setFlagsFromString } from 'node:v8';

/** How much larger than the objects in use the heap may become before V8 collects garbage in it, in percent. */
const growthPercent = 50;

/**
 * Lets V8 collect garbage earlier. By default, it lets a small heap grow to four times the size of the objects in use
 * if gigabytes are available. An import, an export or a bulk create leaves much garbage that is no longer young: 33 MB
 * of objects took 123 MB (Node 26.10, 2026-11-24). Imports take up to a fifth more processor time. The processor time
 * of gets did not change measurably.
 *
 * The option can also be set while the process runs, unlike `--max-semi-space-size`. It also holds for threads.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}

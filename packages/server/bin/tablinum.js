#!/usr/bin/env -S node --max-semi-space-size=4
/**
 * The `tablinum` command. It is JavaScript so that it can prepare Node before the first TypeScript file. `node packages/server/src/cli.ts`
 * also works, but starts more slowly and takes more memory.
 *
 * - The compile cache: from the second start on, all sources come from it, and Node does not load its TypeScript compiler, which takes
 *   19 MB and 90 ms of processor time (Node 26.10, 2026-11-23).
 * - Imports between sources name the file, so they need none of Node's lookups of links, packages and formats, which took more than a
 *   quarter of the processor time of a start (Node 26.10, 2026-11-24).
 */
import { enableCompileCache, registerHooks } from 'node:module';

enableCompileCache();
const source = new URL('../src/', import.meta.url).href;
registerHooks({
  resolve(specifier, context, next) {
    const isSource = specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.startsWith(source);
    if (!isSource) return next(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true };
  },
});
// Servers of tests load this file first (`node --import`), and then a program of their own.
if (import.meta.main) await import('../src/cli.ts');

#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 node --max-semi-space-size=4
/**
 * The `tablinum` command. It is JavaScript so that it can prepare Node before the first TypeScript file.
 *
 * - It runs the bundled server (dist/, see build.ts) if no source is newer, and otherwise the sources, which start more slowly.
 * - The compile cache: from the second start on, all sources come from it, and Node does not load its TypeScript compiler, which takes
 *   19 MB and 90 ms of processor time (Node 26.10, 2026-11-23).
 * - Imports between sources name the file, so they need none of Node's lookups of links, packages and formats, which took more than a
 *   quarter of the processor time of a start (Node 26.10, 2026-11-24).
 */
import { enableCompileCache, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundle, isBuilt } from './bundle.js';

enableCompileCache();
// Tests load this file (`node --import`) to start sources of their own.
if (import.meta.main && isBuilt(join(bundle.folder, bundle.lastFile), bundle.sources)) {
  await import(pathToFileURL(join(bundle.folder, 'cli.js')).href);
} else {
  const source = new URL('../src/', import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      const isSource = specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.startsWith(source);
      if (!isSource) return next(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true };
    },
  });
  if (import.meta.main) await import('../src/cli.ts');
}

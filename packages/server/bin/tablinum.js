#!/usr/bin/env -S node --max-semi-space-size=4
/**
 * The `tablinum` command. It is JavaScript so that it can enable the compile cache before the first TypeScript file. From the second
 * start on, all sources come from the cache, and Node does not load its TypeScript compiler, which takes 19 MB and 90 ms of processor
 * time (Node 26.10, 2026-11-23). `node packages/server/src/cli.ts` also works, but always loads the compiler.
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('../src/cli.ts');

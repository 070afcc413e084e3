/**
 * Extracts the script of the API reference from its package and compresses it. It has four megabytes, so this runs in a
 * thread.
 */
import { parentPort } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import Fastify from 'fastify';

const fastify = Fastify();
await fastify.register(scalar, { routePrefix: '/docs', configuration: { content: {} } });
const { rawPayload } = await fastify.inject('/docs/js/scalar.js');
parentPort!.postMessage(gzipSync(rawPayload, { level: 9 }));

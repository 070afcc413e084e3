/**
 * `node:http` for modules that need more of it than types. An `import` of it evaluates all its exports. One of them is a WebSocket
 * client that the server does not use, whose library (undici) takes 6 MB and 50 ms of processor time (Node 26.10, 2026-11-23).
 */
export const nodeHttp: typeof import('node:http') = process.getBuiltinModule('node:http');

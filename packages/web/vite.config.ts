import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The server that pages ask while they are worked on. */
const server = process.env['TABLINUM_URL'] ?? 'http://127.0.0.1:4180';

/**
 * What is put into one file, the first that matches (decisions/052-chunks-of-the-web-interface.md). The rest is in
 * one file for each page, and libraries that few pages need, such as the editor, in files of their own.
 */
const chunks = [
  { name: 'start', tags: ['$initial' as const] },
  { name: 'components', test: /node_modules\/(?:@mantine|@floating-ui|react-remove-scroll|react-number-format)/ },
  {
    name: 'common',
    test: /packages\/(?:web\/src\/(?:app|data|ui)|client\/src|server\/src\/protocol)\//,
    minShareCount: 2,
  },
  { name: 'admin', test: /packages\/web\/src\/admin\//, minShareCount: 2 },
  { name: 'inbox', test: /packages\/web\/src\/inbox\//, minShareCount: 2 },
];

export default defineConfig(({ command }) => ({
  plugins: [react()],
  // Put in by the server, another one for each reply.
  ...(command === 'build' && { html: { cspNonce: '__CSP_NONCE__' } }),
  build: {
    target: 'es2023',
    assetsInlineLimit: 0, // the policy lets no data: scripts, styles or fonts in
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: { output: { codeSplitting: { groups: chunks } } },
  },
  server: {
    port: 4181,
    strictPort: true,
    proxy: { '/api': { target: server, ws: true }, '/docs': { target: server } },
  },
}));

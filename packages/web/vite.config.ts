import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The server that pages ask while they are worked on. */
const server = process.env['TABLINUM_URL'] ?? 'http://127.0.0.1:4180';

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
  },
  server: {
    port: 4181,
    strictPort: true,
    proxy: { '/api': { target: server, ws: true }, '/docs': { target: server } },
  },
}));

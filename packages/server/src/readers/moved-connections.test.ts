import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { sendConnection } from './moved-connections.ts';

test('a connection that cannot be moved still counts its bytes', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  client.write('four');
  const [first] = (await once(socket, 'data')) as [Buffer];
  const refuse = (): never => {
    throw new Error('Node is too old.');
  };
  expect(sendConnection({ postMessage: refuse }, socket, first)).toBe(false);
  socket.write('three');
  expect([socket.bytesRead, socket.bytesWritten]).toEqual([4, 5]);
  client.destroy();
  socket.destroy();
  server.close();
});

/**
 * Listeners in a process of their own. The arguments are the port, the token, and the number of listeners. Prints lines
 * with the number of received messages.
 */
import { WebSocket } from 'ws';

const [port, token, count] = process.argv.slice(2) as [string, string, string];
let received = 0;

/** Only the beginning of each message is examined: a client that parsed them all would itself be measured. */
function listener(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/api/realtime`, { perMessageDeflate: false });
    socket.on('error', reject);
    socket.on('open', () => socket.send(JSON.stringify({ type: 'authenticate', token })));
    socket.on('message', (data: Buffer) => {
      const type = data.toString('latin1', 9, 12);
      if (type === 'eve') received += 1;
      else if (type === 'aut') socket.send(JSON.stringify({ type: 'subscribe', id: 'a', resource: 'things' }));
      else if (type === 'sub') resolve();
    });
  });
}

for (let open = 0; open < Number(count); open += 50)
  await Promise.all(Array.from({ length: Math.min(50, Number(count) - open) }, listener));
process.stdout.write('ready\n');
let printed = -1;
setInterval(() => {
  if (received === printed) return;
  printed = received;
  process.stdout.write(`${received}\n`);
}, 5);

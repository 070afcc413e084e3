/**
 * Starts Firefox and relays messages between it and Playwright: Firefox does not know some commands that Playwright
 * sends to
 * every browser. The relay answers these, without effect; everything else passes unchanged.
 *
 * Arguments: the path of Firefox, then its own arguments.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { type RawData, WebSocket, WebSocketServer } from 'ws';

/** Commands of WebDriver BiDi that Firefox 153 does not have. */
const unknownCommands = new Set(['emulation.setMediaFeaturesOverride']);

const [path = '', ...args] = process.argv.slice(2);
const browser = spawn(path, args, { stdio: ['ignore', 'inherit', 'pipe'] });
browser.once('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => browser.kill(signal));

const announced = /WebDriver BiDi listening on (ws:\/\/.*)$/;
for await (const line of createInterface({ input: browser.stderr })) {
  const url = announced.exec(line)?.[1];
  process.stderr.write(url === undefined ? `${line}\n` : `WebDriver BiDi listening on ${await listen(url)}\n`);
}

/** @returns the address that Playwright connects to instead. */
async function listen(url: string): Promise<string> {
  const server = createServer();
  new WebSocketServer({ server }).on('connection', (client, { url: target }) => relay(client, `${url}${target ?? ''}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function relay(client: WebSocket, url: string): void {
  const firefox = new WebSocket(url);
  const waiting: RawData[] = [];
  firefox.once('open', () => {
    for (const each of waiting.splice(0)) firefox.send(each, { binary: false });
  });
  client.on('message', (message) => {
    const { id, method } = JSON.parse(String(message)) as { id: number; method: string };
    if (unknownCommands.has(method)) client.send(JSON.stringify({ type: 'success', id, result: {} }));
    else if (firefox.readyState === WebSocket.CONNECTING) waiting.push(message);
    else firefox.send(message, { binary: false });
  });
  firefox.on('message', (message) => client.send(message, { binary: false }));
  firefox.on('close', () => client.close());
  firefox.on('error', () => client.close());
  client.on('close', () => firefox.close());
}

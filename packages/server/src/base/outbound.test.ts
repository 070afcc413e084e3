import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { OutboundClient, outboundLimits } from './outbound.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function receiver(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  return listening(server);
}

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const networkRefusal = 'not public';
const refusedLiterals = [
  'http://127.0.0.1/',
  'http://127.0.0.1./',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://１２７.0.0.1/',
  'http://127。0。0。1/',
  'http://127.255.255.254/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://a.localhost/',
  'http://0.0.0.0/',
  'http://0/',
  'http://10.1.2.3/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://192.0.0.1/',
  'http://192.0.2.1/',
  'http://198.18.0.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://[::]/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[2001:db8::1]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[fc00::1]/',
  'http://[fd12:3456::1]/',
  'http://[ff02::1]/',
  'http://[100::1]/',
];

const refusedForms = [
  '',
  'example.com/hook',
  '//example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'javascript:alert(1)',
  'http:/example.com',
  'http://',
  'http:///path',
  'http://user@example.com/',
  'http://user:secret@example.com/',
  'http://example.com@127.0.0.1/',
  'http://example.com\\@127.0.0.1/',
  'http://exa mple.com/',
  'http://example.com:0/',
  'http://example.com:99999/',
  'http://[fe80::1%25eth0]/',
  'http://[::1',
  'http://1.2.3.4.5.6/',
  'http://256.1.1.1/',
  `http://example.com/${'a'.repeat(outboundLimits.urlLength)}`,
  5,
  null,
  undefined,
  {},
];

describe('addresses', () => {
  const client = new OutboundClient();

  test.each(refusedLiterals)('%s is a private address', (url) => {
    expect(client.findUrlProblem(url)).toContain(networkRefusal);
  });

  test.each(refusedForms)('%s is not an address', (url) => {
    expect(client.findUrlProblem(url)).toBeTypeOf('string');
  });

  test.each([
    'https://example.com/hook',
    'http://example.com:8080/a?b=c',
    'https://bücher.example/hook',
    'http://8.8.8.8/',
    'http://[2606:4700:4700::1111]/',
  ])('%s is a public address', (url) => {
    expect(client.findUrlProblem(url)).toBeNull();
  });

  test('only the addresses that the operator names are allowed', () => {
    const allowing = new OutboundClient({
      allow: ['127.0.0.1', '10.1.0.0/16', 'fd00::/8', 'Hooks.internal', 'localhost'],
    });
    for (const url of ['http://127.0.0.1/', 'http://2130706433/', 'http://[::ffff:127.0.0.1]/', 'http://10.1.255.1/'])
      expect(allowing.findUrlProblem(url), url).toBeNull();
    for (const url of ['http://[fd00::5]/', 'http://hooks.internal/', 'http://localhost./'])
      expect(allowing.findUrlProblem(url), url).toBeNull();
    for (const url of [
      'http://127.0.0.2/',
      'http://10.2.0.1/',
      'http://[fc00::1]/',
      'http://a.localhost/',
      'http://[::1]/',
    ])
      expect(allowing.findUrlProblem(url), url).toContain(networkRefusal);
  });

  test.each(['127.1', '10.0.0.0/33', 'a b', 'http://x', '*', '1.2.3'])('"%s" cannot be allowed', (entry) => {
    expect(() => new OutboundClient({ allow: [entry] })).toThrow(entry);
  });
});

describe('names', () => {
  test('a name that resolves to a private address is refused without a connection', async () => {
    let requests = 0;
    const url = await receiver((_request, response) => {
      requests += 1;
      response.end();
    });
    const { port } = new URL(url);
    for (const addresses of [
      ['127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['fe80::1%lo'],
      ['nonsense'],
    ]) {
      const client = new OutboundClient({ resolve: async () => addresses });
      await expect(client.post(`http://hooks.example:${port}/`, {}, '{}'), String(addresses)).rejects.toMatchObject({
        refused: true,
        message: expect.stringContaining(networkRefusal),
      });
    }
    expect(requests).toBe(0);
  });

  test('the connection uses the address that was checked, and the name is resolved once', async () => {
    const hosts: (string | undefined)[] = [];
    const url = await receiver((request, response) => {
      hosts.push(request.headers.host);
      response.end('ok');
    });
    const { port } = new URL(url);
    let lookups = 0;
    const resolve = async (): Promise<string[]> => {
      lookups += 1;
      return [lookups === 1 ? '127.0.0.1' : '127.0.0.9'];
    };
    const client = new OutboundClient({ allow: ['127.0.0.1'], resolve });
    expect(await client.post(`http://hooks.example:${port}/`, {}, '{}')).toEqual({
      status: 200,
      text: 'ok',
      retryAfter: null,
    });
    expect({ asked: lookups, hosts }).toEqual({ asked: 1, hosts: [`hooks.example:${port}`] });
    await expect(client.post(`http://hooks.example:${port}/`, {}, '{}')).rejects.toMatchObject({ refused: true });
  });

  test('a name that does not resolve, or whose lookup never ends, is an error', async () => {
    const unknown = new OutboundClient({ resolve: async () => [] });
    await expect(unknown.post('http://hooks.example/', {}, '{}')).rejects.toThrow('unknown');
    const silent = new OutboundClient({ resolve: () => new Promise(() => {}), totalMilliseconds: 100 });
    await expect(silent.post('http://hooks.example/', {}, '{}')).rejects.toThrow('did not reply within 0.1 seconds');
  });
});

describe('replies', () => {
  const client = new OutboundClient({ allow: ['127.0.0.1'], totalMilliseconds: 500 });

  test('a redirect is returned, not followed', async () => {
    let inner = 0;
    const target = await receiver((_request, response) => {
      inner += 1;
      response.end();
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await receiver((_request, response) => response.writeHead(status, { location: target }).end());
      expect(await client.post(url, {}, '{}')).toMatchObject({ status });
    }
    expect(inner).toBe(0);
  });

  test('only the beginning of an endless reply is read', async () => {
    let open = true;
    const url = await receiver((_request, response) => {
      response.writeHead(200);
      response.on('close', () => {
        open = false;
      });
      const more = (): void => void (open && response.write('x'.repeat(10_000), () => setImmediate(more)));
      more();
    });
    const { text } = await client.post(url, {}, '{}');
    expect(text).toBe('x'.repeat(outboundLimits.replyBytes));
    await expect.poll(() => open).toBe(false);
  });

  test('a reply that never begins or arrives very slowly ends in a timeout', async () => {
    const silent = await receiver(() => {});
    await expect(client.post(silent, {}, '{}')).rejects.toThrow('did not reply within 0.5 seconds');
    const dripping = await receiver((_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(drip));
    });
    await expect(client.post(dripping, {}, '{}')).rejects.toThrow('did not reply within 0.5 seconds');
  });

  test('large headers, a closed port and a broken connection are errors', async () => {
    const huge = await receiver((_request, response) => response.writeHead(200, { a: 'x'.repeat(20_000) }).end());
    await expect(client.post(huge, {}, '{}')).rejects.toThrow('headers of the reply are too large');
    await expect(client.post('http://127.0.0.1:1/', {}, '{}')).rejects.toThrow('refuses the connection');
    const cut = await listening(createTcpServer((socket: Socket) => socket.destroy()));
    await expect(client.post(cut, {}, '{}')).rejects.toThrow('connection');
  });

  test('the body and the headers of the request arrive', async () => {
    const url = await receiver((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => response.writeHead(201).end(`${request.method} ${request.headers['x-a']} ${text}`));
    });
    expect(await client.post(url, { 'x-a': 'b' }, 'ünï')).toMatchObject({ status: 201 });
    const ending = new AbortController();
    const hanging = client.post(await receiver(() => {}), {}, '{}', ending.signal);
    ending.abort();
    await expect(hanging).rejects.toThrow('aborted');
  });
});

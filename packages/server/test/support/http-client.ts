import { Agent, type IncomingMessage, request } from 'node:http';
import { brotliDecompressSync, unzipSync, zstdDecompressSync } from 'node:zlib';

export interface ClientRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface ClientReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true });
/** The default headers of `fetch`, except `Accept-Encoding`, because compression is tested separately. */
const usualHeaders = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' };
const decompress: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: unzipSync,
  deflate: unzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a request and reads the whole reply. It takes a third of the processor time of `fetch`, which would be a
 * considerable part
 * of the time of the suite.
 */
export async function sendRequest(url: string, asked: ClientRequest): Promise<ClientReply> {
  const { response, bytes } = await exchange(new URL(url), asked);
  const status = response.statusCode!;
  const { location, 'content-encoding': encoding = '' } = response.headers;
  if (redirects.has(status) && location !== undefined && (asked.method === 'GET' || asked.method === 'HEAD'))
    return sendRequest(new URL(location, url).href, asked);
  const plain = bytes.length > 0 && decompress[encoding] ? decompress[encoding](bytes) : bytes;
  return { status, headers: readHeaders(response), text: new TextDecoder().decode(plain) };
}

function exchange(
  url: URL,
  { method, headers, body }: ClientRequest,
): Promise<{ response: IncomingMessage; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers: { ...usualHeaders, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ response, bytes: Buffer.concat(chunks) }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function readHeaders({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!);
  return headers;
}

/** The calls with which a benchmark sets up the server under test, over HTTP like any client. */
export class Api {
  port: number;
  token: string | null = null;

  constructor(port: number) {
    this.port = port;
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ data: never; meta?: { nextCursor: string | null } }> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/${path}`, {
      method,
      headers: {
        ...(this.token && { authorization: `Bearer ${this.token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 400)}`);
    return JSON.parse(text) as { data: never };
  }

  post(path: string, body: unknown): Promise<{ data: never }> {
    return this.call('POST', path, body);
  }
}

export async function inBatches<T>(
  count: number,
  make: (index: number) => T,
  send: (batch: T[]) => Promise<unknown>,
): Promise<void> {
  for (let from = 1; from <= count; from += 1000) {
    const size = Math.min(1000, count - from + 1);
    await send(Array.from({ length: size }, (_, index) => make(from + index)));
  }
}

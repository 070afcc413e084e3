import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Json } from './json.ts';
import type { TestServer } from './scenario.ts';

export interface McpOptions {
  /**
   * `legacy`: the protocol revision of 2025, with an initialisation. Default: the newest revision that the server
   * supports.
   */
  readonly era?: 'legacy' | 'auto';
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The result of a tool: its text is JSON. */
export interface ToolOutcome {
  readonly isError: boolean;
  readonly body: Json;
  readonly bytes: number;
}

/** The client of the official SDK, connected to a server. */
export class McpClient {
  readonly client: Client;

  private constructor(client: Client) {
    this.client = client;
  }

  static async connect(server: TestServer, as: string, options: McpOptions = {}): Promise<McpClient> {
    const { era = 'auto', path = '/mcp', headers = {} } = options;
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } });
    const authorization = `Bearer ${server.tokens.get(as) ?? as}`;
    const requestInit = { headers: { authorization, ...headers } };
    await client.connect(new StreamableHTTPClientTransport(new URL(server.running.url + path), { requestInit }));
    return new McpClient(client);
  }

  async toolNames(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  /** The input schema of a tool. */
  async inputOf(tool: string): Promise<Json> {
    const { tools } = await this.client.listTools();
    return tools.find(({ name }) => name === tool)?.inputSchema;
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<ToolOutcome> {
    const { content, isError = false } = await this.client.callTool({ name, arguments: args });
    const [first] = content as { text: string }[];
    return { isError, body: JSON.parse(first!.text), bytes: Buffer.byteLength(first!.text) };
  }

  /** The data of a call that is expected to succeed. */
  async data(name: string, args: Record<string, unknown> = {}): Promise<Json> {
    const { isError, body } = await this.call(name, args);
    if (isError) throw new Error(`${name}: ${JSON.stringify(body)}`);
    return body.data;
  }
}

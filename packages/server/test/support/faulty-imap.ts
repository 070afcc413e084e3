import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { CommandReader } from './imap-lines.ts';
import { getSharedCertificate, type MailCertificate } from './mail-certificate.ts';

/** A command of a client. */
export interface ImapCommand {
  readonly tag: string;
  /** In capitals; names of commands with `UID` begin with it, such as `UID FETCH`. */
  readonly name: string;
  /** The rest of the line, without literals. */
  readonly args: string;
  readonly connection: FaultyConnection;
  /** The number of commands with this name that the server has received so far, including this one. */
  readonly count: number;
}

/** The lines of a reply, without line ends; the final one begins with `{tag}`. An empty list sends nothing. */
export type ImapReply = readonly string[];

/** Returns what the server replies to a command; undefined for the usual behaviour. */
export type ImapScript = (command: ImapCommand) => ImapReply | undefined;

export interface FaultyImapOptions {
  /** A plain IMAP port, usually that of Dovecot, to which commands without a scripted reply are passed on. */
  readonly upstreamPort?: number;
  /** False: without TLS; `tls` by default. */
  readonly security?: 'tls' | 'none';
  readonly certificate?: MailCertificate;
  /** Capabilities of a server without upstream. */
  readonly capabilities?: readonly string[];
  /** The first line; `* BYE …` for a test of a server with too many connections. */
  readonly greeting?: string;
  /**
   * Decides about a sign-in if there is no upstream: null accepts it, and any other text is sent after `NO`, such as
   * `[AUTHENTICATIONFAILED] Invalid credentials (Failure)`.
   */
  readonly refuseLogin?: (login: { readonly mechanism: string; readonly line: string }) => string | null;
}

/** A connection of a client, which a script can break. */
export interface FaultyConnection {
  /** Sends an untagged line, such as `* BYE Server is going down`. */
  send(line: string): void;
  /** Closes the connection without a BYE. */
  drop(): void;
  /** From now on nothing is sent to the client, but the connection stays open. */
  becomeDeaf(): void;
}

/** A scripted IMAP server on loopback: standalone, or between a client and Dovecot. */
export interface FaultyImap {
  readonly port: number;
  readonly certificate: MailCertificate;
  /** A test can replace it at any time. */
  script: ImapScript;
  /** Changes lines of the upstream server; null drops a line. Literals are passed on unchanged. */
  rewrite: (line: string) => string | null;
  /** Bytes per second that are sent to the client; null: no limit. */
  bytesPerSecond: number | null;
  /** Every command received, as `NAME args`, passwords included. */
  readonly commands: readonly string[];
  readonly connections: ReadonlySet<FaultyConnection>;
  stop(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startFaultyImap(options: FaultyImapOptions = {}): Promise<FaultyImap> {
  const certificate = options.certificate ?? getSharedCertificate();
  const commands: string[] = [];
  const connections = new Set<ClientConnection>();
  const counts = new Map<string, number>();
  const accept = (socket: Socket): void => {
    const connection = new ClientConnection(socket, options, faulty, (command) => {
      commands.push(`${command.name} ${command.args}`.trim());
      counts.set(command.name, (counts.get(command.name) ?? 0) + 1);
      return counts.get(command.name) ?? 1;
    });
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  };
  const server: Server =
    options.security === 'none'
      ? createServer(accept)
      : createTlsServer({ key: certificate.key, cert: certificate.cert }, accept);
  const faulty: FaultyImap = {
    port: 0,
    certificate,
    script: () => undefined,
    rewrite: (line) => line,
    bytesPerSecond: null,
    commands,
    connections,
    stop: async () => {
      for (const connection of connections) connection.drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('tlsClientError', () => {}); // clients that do not trust the certificate
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(faulty, { port: (server.address() as AddressInfo).port });
}

type Count = (command: Omit<ImapCommand, 'count'>) => number;

class ClientConnection implements FaultyConnection {
  readonly #socket: Socket;
  readonly #options: FaultyImapOptions;
  readonly #faulty: FaultyImap;
  readonly #count: Count;
  readonly #upstream: Socket | null;
  /** Bytes that a slow connection still has to send. */
  #waiting = Buffer.alloc(0);
  #isSending = false;
  #isDeaf = false;
  /** Without upstream: a command that waits for a literal or for another line of the client. */
  #continued: { readonly tag: string; readonly name: string; readonly args: string } | null = null;

  #literalText = '';

  constructor(socket: Socket, options: FaultyImapOptions, faulty: FaultyImap, count: Count) {
    this.#socket = socket;
    this.#options = options;
    this.#faulty = faulty;
    this.#count = count;
    this.#upstream = options.upstreamPort === undefined ? null : connect(options.upstreamPort, '127.0.0.1');
    const reader = new CommandReader(
      (line) => this.#receive(line),
      (bytes) => this.#receiveLiteral(bytes),
    );
    socket.on('data', (chunk: Buffer) => reader.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => this.#upstream?.destroy());
    if (this.#upstream) this.#relayFrom(this.#upstream);
    else this.send(options.greeting ?? `* OK [CAPABILITY ${this.#capabilities()}] Ready`);
  }

  send(line: string): void {
    this.#write(Buffer.from(`${line}\r\n`, 'latin1'));
  }

  drop(): void {
    this.#socket.destroy();
  }

  becomeDeaf(): void {
    this.#isDeaf = true;
  }

  /** Passes lines of the upstream server on, and literals unchanged. */
  #relayFrom(upstream: Socket): void {
    const reader = new CommandReader(
      (line) => {
        const rewritten = this.#faulty.rewrite(line);
        if (rewritten !== null) this.send(rewritten);
        return true;
      },
      (bytes) => this.#write(bytes),
    );
    upstream.on('data', (chunk: Buffer) => reader.push(chunk));
    upstream.on('error', () => {});
    upstream.on('close', () => this.#socket.end());
  }

  #receiveLiteral(bytes: Buffer): void {
    if (this.#upstream) this.#upstream.write(bytes);
    else this.#literalText += bytes.toString('latin1');
  }

  /** @returns false if the literal after the line must be dropped. */
  #receive(line: string): boolean {
    if (this.#continued) {
      this.#continue(line);
      return true;
    }
    const [, tag = '*', name = '', args = ''] = /^(\S+) ((?:UID )?\S+) ?(.*)$/i.exec(line) ?? [];
    const partial = { tag, name: name.toUpperCase(), args, connection: this };
    const count = this.#count(partial);
    const scripted = name === '' ? undefined : this.#faulty.script({ ...partial, count });
    if (scripted) {
      for (const each of scripted) this.send(each.replace('{tag}', tag));
      return false;
    }
    if (this.#upstream) this.#upstream.write(`${line}\r\n`, 'latin1');
    else for (const each of this.#reply(partial)) this.send(each.replace('{tag}', tag));
    return true;
  }

  /** The default behaviour: a server with one empty mailbox. */
  #reply({ tag, name, args }: Omit<ImapCommand, 'count' | 'connection'>): ImapReply {
    const isLogin = name === 'LOGIN' || name === 'AUTHENTICATE';
    const isOpen = name === 'AUTHENTICATE' && !args.includes(' ');
    if (isOpen || name === 'IDLE' || /\{\d+\}$/.test(args)) {
      this.#continued = { tag, name, args };
      return ['+ '];
    }
    if (isLogin) return this.#logIn(name, args);
    return usualReplies[name]?.(this.#capabilities()) ?? [`{tag} OK ${name} completed`];
  }

  #continue(line: string): void {
    const { tag, name, args } = this.#continued ?? { tag: '*', name: '', args: '' };
    this.#continued = null;
    const literal = /^(.*)\{\d+\}$/.exec(args);
    const literalText = this.#literalText;
    this.#literalText = '';
    const replies = literal
      ? this.#reply({ tag, name, args: `${literal[1]}"${literalText}"${line}` })
      : name === 'AUTHENTICATE'
        ? this.#logIn(name, `${args} ${line}`)
        : [`{tag} OK ${name} completed`];
    for (const each of replies) this.send(each.replace('{tag}', tag));
  }

  #logIn(name: string, args: string): ImapReply {
    const mechanism = name === 'LOGIN' ? 'LOGIN' : (args.split(' ')[0] ?? '').toUpperCase();
    const refusal = this.#options.refuseLogin?.({ mechanism, line: args }) ?? null;
    return [refusal === null ? `{tag} OK [CAPABILITY ${this.#capabilities()}] Logged in` : `{tag} NO ${refusal}`];
  }

  #capabilities(): string {
    return (this.#options.capabilities ?? ['IMAP4rev1', 'IDLE', 'SASL-IR', 'AUTH=PLAIN']).join(' ');
  }

  #write(bytes: Buffer): void {
    if (this.#isDeaf || this.#socket.destroyed) return;
    if (this.#faulty.bytesPerSecond === null && this.#waiting.length === 0) {
      this.#socket.write(bytes);
      return;
    }
    this.#waiting = Buffer.concat([this.#waiting, bytes]);
    if (!this.#isSending) this.#sendSlowly();
  }

  /** Sends the waiting bytes in twenty portions per second. */
  #sendSlowly(): void {
    const { bytesPerSecond } = this.#faulty;
    const portion = bytesPerSecond === null ? this.#waiting.length : Math.max(1, Math.ceil(bytesPerSecond / 20));
    if (!this.#isDeaf && !this.#socket.destroyed) this.#socket.write(this.#waiting.subarray(0, portion));
    this.#waiting = this.#waiting.subarray(portion);
    this.#isSending = this.#waiting.length > 0 && !this.#socket.destroyed;
    if (this.#isSending) setTimeout(() => this.#sendSlowly(), 50);
  }
}

const usualReplies: Readonly<Record<string, (capabilities: string) => ImapReply>> = {
  CAPABILITY: (capabilities) => [`* CAPABILITY ${capabilities}`, '{tag} OK Capability completed'],
  NAMESPACE: () => ['* NAMESPACE (("" "/")) NIL NIL', '{tag} OK Namespace completed'],
  LIST: () => ['* LIST (\\HasNoChildren) "/" INBOX', '{tag} OK List completed'],
  LSUB: () => ['* LSUB (\\HasNoChildren) "/" INBOX', '{tag} OK Lsub completed'],
  STATUS: () => ['* STATUS INBOX (MESSAGES 0 UIDNEXT 1 UIDVALIDITY 1 UNSEEN 0)', '{tag} OK Status completed'],
  SELECT: () => [
    '* FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)',
    '* OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft \\*)] Flags',
    '* 0 EXISTS',
    '* OK [UIDVALIDITY 1] Valid',
    '* OK [UIDNEXT 1] Next',
    '{tag} OK [READ-WRITE] Select completed',
  ],
  LOGOUT: () => ['* BYE Logging out', '{tag} OK Logout completed'],
};

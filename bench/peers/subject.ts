/** What the comparison knows of a server: how to ask it the questions, and how to read its replies. */
import type { Served } from '../child.ts';
import type { Engine } from '../places.ts';

/** A post as every server keeps it. */
export interface PostRow {
  readonly title: string;
  readonly body: string;
  readonly views: number;
  readonly published: boolean;
  /** Position in time: posts are listed by it, the newest first. */
  readonly posted: number;
  /** From 1 on. */
  readonly author: number;
}

export type Question =
  | { readonly kind: 'get'; readonly post: number }
  | { readonly kind: 'list' | 'author'; readonly below: number }
  | { readonly kind: 'search'; readonly word: string }
  | { readonly kind: 'create'; readonly post: PostRow }
  | { readonly kind: 'update'; readonly post: number; readonly views: number };

export type Kind = Question['kind'];

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** The fields of a reply that the check compares. */
export interface Row {
  readonly title?: unknown;
  readonly views?: unknown;
  readonly name?: unknown;
  /** Name of the author, if the request includes the author. */
  readonly author?: unknown;
}

/** A record in the form of the server that sent it. */
export type Raw = Readonly<Record<string, unknown>>;

/** How questions are put to one server, and how its replies are read. */
export interface Dialect {
  /** The request, or null if the server has no such feature. */
  call(question: Question): Call | null;
  /** The records of a reply. */
  rows(kind: Kind, reply: unknown): Row[];
  /** The status of a good reply to a create; that of all others is 200. */
  readonly createdStatus: number;
}

/** A running server with its data, and the headers by which it knows the caller. */
export interface Subject {
  readonly served: Served;
  readonly headers: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
}

/** Where a server keeps its data. */
export interface Store {
  /** An empty folder. */
  readonly folder: string;
  /** An empty database of PostgreSQL, for servers that run on it. */
  readonly databaseUrl: string | null;
}

export interface Installed {
  readonly version: string;
  /** What executes the server, with its version. */
  readonly runtime: string;
}

/** A product that is compared. */
export interface Peer {
  readonly name: string;
  readonly engine: Engine;
  /** Whether a write is on the disk before its reply. */
  readonly writes: string;
  /** How it is configured, in one line. */
  readonly configuration: string;
  /** @throws with the reason, if it cannot be installed here. */
  install(): Promise<Installed>;
  /** Defines and fills the two collections. Nothing runs afterwards. */
  fill(store: Store): Promise<void>;
  start(store: Store): Promise<Served>;
  signIn(served: Served): Promise<Subject>;
}

export const account = { email: 'bench@example.com', password: 'A long bench passw0rd!' };

/** E-mail: what is done with messages beside the record actions of `emails`, `conversations` and `attachments`. */

import type { Key, ReadParameters, RecordValues } from './dto.ts';
import { type ActionOptions, Records } from './records.ts';
import type { Progress } from './upload.ts';

export type MailAddress = string | { readonly name?: string; readonly address: string };

/** What is written of a message; members that are not named stay as they are. */
export interface MessageContent {
  readonly to?: MailAddress | readonly MailAddress[];
  readonly cc?: MailAddress | readonly MailAddress[];
  readonly bcc?: MailAddress | readonly MailAddress[];
  readonly subject?: string | null;
  readonly text?: string | null;
  readonly html?: string | null;
  /** Bytes as base64, or attachments that are there, by their ids. */
  readonly attachments?: readonly (
    | { readonly id: number }
    | { readonly filename?: string | null; readonly contentType?: string; readonly content: string }
  )[];
}

/** A message of an account that is new, or a draft that is there. */
export type Draft = MessageContent & { readonly account?: Key; readonly id?: number };
/** ISO 8601; as soon as it cannot be called back unless told. */
type ScheduledSend = { readonly sendAt?: string | null };
/** With `draft` a draft is saved instead; what was said before is quoted unless `quote` is false. */
export type ReplyContent = MessageContent & ScheduledSend & { readonly draft?: boolean; readonly quote?: boolean };

/** Somebody in the `participants` of a conversation; those who wrote come first. */
export interface Participant {
  readonly name: string;
  readonly address: string;
  /** Whether one of its e-mails is from them; missing until an updated server has rebuilt the conversation. */
  readonly wrote?: boolean;
}

export interface MailImport {
  readonly [outcome: string]: unknown;
}

export class Emails extends Records {
  saveDraft(draft: Draft, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('saveDraft', draft, {}, options);
  }

  /** Adds a file to a draft. @param progress hears how many of its bytes have left. */
  async attach(
    draft: number,
    file: { readonly filename: string; readonly contentType?: string; readonly content: Blob },
    progress?: Progress,
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    const { filename, contentType, content } = file;
    const query = { filterByTk: draft, filename, ...(contentType && { contentType }) };
    return this.#upload('attach', query, content, 'application/octet-stream', progress, options);
  }

  /** Puts a message, or a draft by its id, into the outbox. */
  send(message: Draft & ScheduledSend, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('send', message, {}, options);
  }

  reply(email: number, content: ReplyContent = {}, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('reply', content, { filterByTk: email }, options);
  }

  replyAll(email: number, content: ReplyContent = {}, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('replyAll', content, { filterByTk: email }, options);
  }

  forward(email: number, content: ReplyContent = {}, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('forward', content, { filterByTk: email }, options);
  }

  /** Calls a message back that waits: it is a draft again. */
  cancelSend(email: number): Promise<RecordValues> {
    return this.write('cancelSend', undefined, { filterByTk: email }, {});
  }

  /** @param mailbox its path, role or id. @returns how many were moved. */
  moveTo(ids: readonly number[], mailbox: Key): Promise<number> {
    return this.write('move', { ids, mailbox }, {}, {});
  }

  /** @returns the e-mails; beyond 1000 their number. */
  flag(
    ids: readonly number[],
    flags: { readonly read?: boolean; readonly starred?: boolean },
  ): Promise<readonly RecordValues[] | number> {
    return this.write('batchUpdate', { ids, ...flags }, {}, {});
  }

  /** Stores raw messages: one (`message/rfc822`), or an mbox with many. What is there already is counted as a duplicate. */
  import(
    to: { readonly account: Key; readonly mailbox?: string },
    messages: Blob,
    progress?: Progress,
    options: ActionOptions = {},
  ): Promise<MailImport> {
    const type = messages.type === 'application/mbox' ? messages.type : 'message/rfc822';
    return this.#upload('import', to, messages, type, progress, options);
  }

  /** Makes the conversations of an account anew, from its e-mails: what is as it should be stays. */
  async rethread(account: number): Promise<{ readonly conversations: number; readonly changed: number }> {
    const request = { method: 'POST' as const, query: { filterByTk: account } };
    return (await this.transport.call<{ conversations: number; changed: number }>('accounts:rethread', request)).data;
  }

  /** The message as it came, byte by byte. */
  raw(email: number, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:raw`, { ...options, query: { filterByTk: email } });
  }

  /** An image of another place that the message shows, fetched by the server. */
  image(email: number, url: string, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:image`, { ...options, query: { filterByTk: email, url } });
  }

  /** All messages of an account, or of a mailbox, as an mbox. */
  export(from: { readonly account: Key; readonly mailbox?: string }, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:export`, { ...options, query: from });
  }

  /** The bytes of an attachment. */
  file(attachment: number, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`attachments/${attachment}`, options);
  }

  /** A conversation with its e-mails, the oldest first. */
  async thread(
    conversation: number,
    parameters: ReadParameters = {},
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    const query = { ...parameters, filterByTk: conversation };
    return (await this.transport.call<RecordValues>('conversations:get', { ...options, query })).data;
  }

  async #upload<T>(
    action: string,
    query: object,
    content: Blob,
    type: string,
    progress: Progress | undefined,
    options: ActionOptions,
  ): Promise<T> {
    const body = content.type === type ? content : content.slice(0, content.size, type);
    const request = { ...options, method: 'POST' as const, query, body, ...(progress && { progress }) };
    return (await this.transport.call<T>(`${this.path}:${action}`, request)).data;
  }
}

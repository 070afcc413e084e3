/** E-mail: the actions of messages, in addition to the record actions of `emails`, `conversations` and `attachments`. */

import type { Key, ReadParameters, RecordValues, StoredFile } from './dto.ts';
import { type ActionOptions, Records } from './records.ts';
import type { Progress } from './upload.ts';

export type MailAddress = string | { readonly name?: string; readonly address: string };

/** The properties of a draft. Properties that are absent stay unchanged. */
export interface MessageContent {
  readonly to?: MailAddress | readonly MailAddress[];
  readonly cc?: MailAddress | readonly MailAddress[];
  readonly bcc?: MailAddress | readonly MailAddress[];
  readonly subject?: string | null;
  readonly text?: string | null;
  readonly html?: string | null;
  /** Adds the signature of the sender below the text. */
  readonly signature?: boolean;
  /** New attachments in base64, or existing ones by their ids. */
  readonly attachments?: readonly (
    | { readonly id: number }
    | {
        readonly filename?: string | null;
        readonly contentType?: string;
        /** The name by which the HTML shows a picture: `<img src="cid:logo@shop">`. */
        readonly contentId?: string | null;
        readonly content: string;
      }
  )[];
}

/** A new message of an account, or an existing draft. */
export type Draft = MessageContent & { readonly account?: Key; readonly id?: number };
/** ISO 8601. Default: as soon as the time for undoing has passed. */
type ScheduledSend = { readonly sendAt?: string | null; readonly followUpAt?: string | null };
/** With `draft` only a draft is saved. The original message is quoted unless `quote` is false. */
export type ReplyContent = MessageContent & ScheduledSend & { readonly draft?: boolean; readonly quote?: boolean };
/** With `asAttachment`, the whole message is attached unchanged instead of being quoted. */
export type ForwardContent = ReplyContent & { readonly asAttachment?: boolean };

interface MailUpload {
  readonly query: object;
  readonly content: Blob;
  readonly type: string;
  readonly progress: Progress | undefined;
}

/** One of the `participants` of a conversation. Senders come first. */
export interface Participant {
  readonly name: string;
  readonly address: string;
  /** Whether one of its e-mails is from this person. Absent until an updated server has rebuilt the conversation. */
  readonly wrote?: boolean;
}

export interface MailImport {
  readonly [outcome: string]: unknown;
}

export class Emails extends Records {
  saveDraft(draft: Draft, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('saveDraft', draft, {}, options);
  }

  /** Adds a file to a draft. @param progress receives the number of sent bytes. */
  async attach(
    draft: number,
    file: {
      readonly filename: string;
      readonly contentType?: string;
      readonly contentId?: string;
      readonly content: Blob;
    },
    progress?: Progress,
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    const { filename, contentType, contentId, content } = file;
    const query = {
      filterByTk: draft,
      filename,
      ...(contentType && { contentType }),
      ...(contentId && { contentId }),
    };
    return this.#upload('attach', { query, content, type: 'application/octet-stream', progress }, options);
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

  forward(email: number, content: ForwardContent = {}, options: ActionOptions = {}): Promise<RecordValues> {
    return this.write('forward', content, { filterByTk: email }, options);
  }

  /** Cancels a message that is waiting in the outbox: it is a draft again. */
  cancelSend(email: number): Promise<RecordValues> {
    return this.write('cancelSend', undefined, { filterByTk: email }, {});
  }

  /** Sends a message again to the recipients that it has not reached, or whose outcome is unknown. */
  retrySend(email: number): Promise<RecordValues> {
    return this.write('retrySend', undefined, { filterByTk: email }, {});
  }

  /** @param mailbox its path, role or id; several: the e-mails are then in all of them. @returns the number of moved e-mails. */
  moveTo(ids: readonly number[], mailbox: Key | readonly Key[]): Promise<number> {
    return this.write('move', { ids, mailbox }, {}, {});
  }

  /** @returns the e-mails, or only their number if there are more than 1000. */
  flag(
    ids: readonly number[],
    flags: { readonly read?: boolean; readonly starred?: boolean },
  ): Promise<readonly RecordValues[] | number> {
    return this.write('batchUpdate', { ids, ...flags }, {}, {});
  }

  /** Stores raw messages: one (`message/rfc822`), or an mbox with many. Existing messages are counted as duplicates. */
  import(
    to: { readonly account: Key; readonly mailbox?: string },
    messages: Blob,
    progress?: Progress,
    options: ActionOptions = {},
  ): Promise<MailImport> {
    const type = messages.type === 'application/mbox' ? messages.type : 'message/rfc822';
    return this.#upload('import', { query: to, content: messages, type, progress }, options);
  }

  /** Rebuilds the conversations of an account from its e-mails. Correct ones stay unchanged. */
  async rethread(account: number): Promise<{ readonly conversations: number; readonly changed: number }> {
    const request = { method: 'POST' as const, query: { filterByTk: account } };
    return (await this.transport.call<{ conversations: number; changed: number }>('accounts:rethread', request)).data;
  }

  /** Leaves the mailing list of a message with one click. */
  async unsubscribe(email: number, options: ActionOptions = {}): Promise<void> {
    await this.write('unsubscribe', undefined, { filterByTk: email }, options);
  }

  /** The raw message, byte for byte. */
  raw(email: number, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:raw`, { ...options, query: { filterByTk: email } });
  }

  /** A remote image of the message, fetched by the server. */
  image(email: number, url: string, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:image`, { ...options, query: { filterByTk: email, url } });
  }

  /** All messages of an account, or of a mailbox, as an mbox. */
  export(from: { readonly account: Key; readonly mailbox?: string }, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:export`, { ...options, query: from });
  }

  /** The mbox of {@link export} as a file on the server, which belongs to the caller. */
  async storeMbox(
    from: { readonly account: Key; readonly mailbox?: string },
    options: ActionOptions = {},
  ): Promise<StoredFile> {
    const request = { ...options, method: 'POST' as const, query: from };
    return (await this.transport.call<StoredFile>(`${this.path}:storeExport`, request)).data;
  }

  /** The bytes of an attachment. */
  file(attachment: number, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`attachments/${attachment}`, options);
  }

  /** A conversation with its e-mails, oldest first. */
  async thread(
    conversation: number,
    parameters: ReadParameters = {},
    options: ActionOptions = {},
  ): Promise<RecordValues> {
    const query = { ...parameters, filterByTk: conversation };
    return (await this.transport.call<RecordValues>('conversations:get', { ...options, query })).data;
  }

  async #upload<T>(action: string, { query, content, type, progress }: MailUpload, options: ActionOptions): Promise<T> {
    const body = content.type === type ? content : content.slice(0, content.size, type);
    const request = { ...options, method: 'POST' as const, query, body, ...(progress && { progress }) };
    return (await this.transport.call<T>(`${this.path}:${action}`, request)).data;
  }
}

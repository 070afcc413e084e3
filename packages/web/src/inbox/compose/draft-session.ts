/**
 * One message while it is written: begun on the server, saved a moment after each change, one save after the other, sent
 * once. What is typed is never lost by a refusal: it stays here, and the next save carries all of it.
 */
import type { Client } from '@tablinum/client';
import type { Attachment, Email, MailAddress } from '../mail.ts';
import { addressText, parseAddresses } from './addresses.ts';

/** What a message begins as. */
export type Beginning =
  | { readonly kind: 'new'; readonly accountId: number }
  | { readonly kind: 'reply' | 'replyAll' | 'forward'; readonly email: number; readonly conversation: number }
  | { readonly kind: 'draft'; readonly email: number; readonly conversation: number };

/** As it stands in the fields. */
export interface Written {
  readonly to: string;
  readonly cc: string;
  readonly bcc: string;
  readonly subject: string;
  readonly text: string;
}

export interface DraftState {
  /** Null until it is begun. */
  readonly written: Written | null;
  readonly attachments: readonly Attachment[];
  readonly saving: 'no' | 'soon' | 'now' | 'saved';
  readonly error: Error | null;
}

const pause = 700;
const nothing: Written = { to: '', cc: '', bcc: '', subject: '', text: '' };

export class DraftSession {
  readonly #client: Client;
  readonly #beginning: Beginning;
  readonly #listeners = new Set<() => void>();
  #state: DraftState = { written: null, attachments: [], saving: 'no', error: null };
  #id: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #begun = false;
  #over = false;

  constructor(client: Client, beginning: Beginning) {
    this.#client = client;
    this.#beginning = beginning;
  }

  /** The draft on the server, if there is one yet. */
  get id(): number | null {
    return this.#id;
  }

  readonly snapshot = (): DraftState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  async begin(): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    try {
      if (this.#beginning.kind === 'new') this.#become({ written: nothing });
      else this.#take(await this.#first(this.#beginning));
    } catch (error) {
      this.#begun = false;
      this.#become({ error: error as Error });
    }
  }

  write(change: Partial<Written>): void {
    this.#become({ written: { ...(this.#state.written ?? nothing), ...change }, saving: 'soon' });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), pause);
  }

  /** Saves what is not saved yet. @returns whether all of it is. */
  save(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#over || this.#state.saving !== 'soon') return this.#queue.then(() => this.#state.error === null);
    const saved = this.#queue.then(() => this.#saveNow());
    this.#queue = saved;
    return saved;
  }

  async attach(file: File): Promise<void> {
    if (this.#id === null) this.#become({ saving: 'soon' });
    if (!(await this.save()) || this.#id === null) return;
    try {
      const query = { filterByTk: this.#id, filename: file.name, ...(file.type && { contentType: file.type }) };
      const body = new Blob([file], { type: 'application/octet-stream' });
      const { data } = await this.#client.call<Email>('emails:attach', { method: 'POST', query, body });
      this.#become({ attachments: data.attachments ?? [], error: null });
    } catch (error) {
      this.#become({ error: error as Error });
    }
  }

  async detach(file: Attachment): Promise<void> {
    if (!(await this.save()) || this.#id === null) return;
    const attachments = this.#state.attachments.filter(({ id }) => id !== file.id);
    try {
      const body = { id: this.#id, attachments: attachments.map(({ id }) => ({ id })) };
      this.#take(await this.#client.post<Email>('emails:saveDraft', body), true);
    } catch (error) {
      this.#become({ error: error as Error });
    }
  }

  /** Into the outbox. @returns the message there, or null where it was refused. */
  async send(): Promise<number | null> {
    if (this.#id === null) this.#become({ saving: 'soon' });
    if (!(await this.save()) || this.#id === null) return null;
    try {
      const { id } = await this.#client.post<{ id: number }>('emails:send', { id: this.#id });
      this.#over = true;
      return id;
    } catch (error) {
      this.#become({ error: error as Error });
      return null;
    }
  }

  /** Nothing of it stays. */
  async discard(): Promise<void> {
    clearTimeout(this.#timer);
    this.#over = true;
    await this.#queue;
    if (this.#id !== null) await this.#client.post('emails:destroy', { ids: [this.#id] }, { force: true });
  }

  async #first(beginning: Exclude<Beginning, { kind: 'new' }>): Promise<Email> {
    if (beginning.kind === 'draft')
      return (await this.#client.call<Email>('emails:get', { query: { filterByTk: beginning.email } })).data;
    const draft = await this.#client.post<Email>(`emails:${beginning.kind}`, { id: beginning.email, draft: true });
    return { ...draft, text: `\n\n${draft.text ?? ''}` };
  }

  async #saveNow(): Promise<boolean> {
    const { written } = this.#state;
    if (this.#over || !written) return false;
    this.#become({ saving: 'now' });
    try {
      const { to, cc, bcc, subject, text } = written;
      const message = {
        to: parseAddresses(to),
        cc: parseAddresses(cc),
        bcc: parseAddresses(bcc),
        subject,
        text,
        html: null,
      };
      const beginning = this.#beginning;
      const place = this.#id !== null ? { id: this.#id } : beginning.kind === 'new' && { account: beginning.accountId };
      const { id } = await this.#client.post<Email>('emails:saveDraft', { ...place, ...message });
      this.#id = id;
      this.#become({ saving: this.#state.written === written ? 'saved' : 'soon', error: null });
      return true;
    } catch (error) {
      this.#become({ saving: 'soon', error: error as Error });
      return false;
    }
  }

  #take(email: Email, filesAlone = false): void {
    this.#id = email.id;
    const attachments = email.attachments ?? [];
    if (filesAlone) {
      this.#become({ attachments, error: null });
      return;
    }
    const written = {
      to: addressesText(email.to),
      cc: addressesText(email.cc),
      bcc: addressesText(email.bcc ?? null),
      subject: email.subject ?? '',
      text: email.text ?? '',
    };
    this.#become({ written, attachments, error: null });
  }

  #become(change: Partial<DraftState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function addressesText(addresses: readonly MailAddress[] | null): string {
  return (addresses ?? []).map(addressText).join(', ');
}

/**
 * One message while it is written: stored on the server from the first change on, saved a moment after each one, one request
 * after the other, sent once. What is typed is never lost by a refusal: it stays here, and the next save carries all of it. Where the draft has
 * gone on elsewhere, both texts are kept, and the writer settles it.
 */
import type { Client } from '@tablinum/client';
import type { Attachment, Email } from '../mail.ts';
import { isAway, isLost, isStale, StoredDraft } from './stored-draft.ts';
import { begunText, bodyOf, nothing, resigned, saysTheSame, type Written, writtenOf } from './written.ts';

/** What a message begins as. */
export type Beginning =
  | { readonly kind: 'new'; readonly accountId: number }
  | { readonly kind: 'reply' | 'replyAll' | 'forward'; readonly email: number; readonly conversation: number }
  | { readonly kind: 'draft'; readonly email: number; readonly conversation: number };

/** The draft has gone on elsewhere: what is there now, or that it is there no more. */
export type Conflict =
  | { readonly kind: 'changed'; readonly theirs: Written; readonly version: string | null }
  | { readonly kind: 'gone' };

/** What became of a file; the error is null where the draft waits for its writer. */
export type Attached = { readonly done: true } | { readonly done: false; readonly error: Error | null };

/** How a conflict ends: with what stands here, with what stands there, or with one below the other. */
export type Settlement = 'mine' | 'theirs' | 'both';

export interface DraftState {
  /** Null until it is begun. */
  readonly written: Written | null;
  /** The account that it comes from; null until it is known. */
  readonly accountId: number | null;
  readonly attachments: readonly Attachment[];
  readonly saving: 'no' | 'soon' | 'now' | 'saved';
  readonly conflict: Conflict | null;
  readonly error: Error | null;
}

/** From the last change to its save, and from a save that did not arrive to the next, in milliseconds. */
const pause = 700;
const pauseOffline = 4000;

export class DraftSession {
  readonly #beginning: Beginning;
  readonly #signatures: ReadonlyMap<number, string>;
  readonly #draft: StoredDraft;
  readonly #listeners = new Set<() => void>();
  #state: DraftState;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #begun = false;
  #touched = false;
  #over = false;
  #resting = false;
  #sending = false;
  /** Files on their way, and how many did not arrive. */
  readonly #files = new Set<Promise<Attached>>();
  #missing = 0;

  /** @param signatures texts by account, for those that have one. */
  constructor(client: Client, beginning: Beginning, signatures: ReadonlyMap<number, string>) {
    this.#draft = new StoredDraft(client);
    this.#beginning = beginning;
    this.#signatures = signatures;
    const accountId = beginning.kind === 'new' ? beginning.accountId : null;
    this.#state = { written: null, accountId, attachments: [], saving: 'no', conflict: null, error: null };
  }

  readonly snapshot = (): DraftState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Something stands here alone. */
  get unsaved(): boolean {
    return !this.#over && (this.#state.saving === 'soon' || this.#state.saving === 'now');
  }

  /** Discarding it would lose something that somebody has written or attached; files that a forward takes along are not. */
  get holdsWork(): boolean {
    return this.#touched || this.#beginning.kind === 'draft';
  }

  async begin(): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    await this.#inTurn(() => this.#beginNow());
  }

  /** Whoever writes it is not signed in: nothing is asked, in nobody else's name either. */
  rest(): void {
    this.#resting = true;
    clearTimeout(this.#timer);
  }

  /** Its writer is here: it is begun, and what stands here alone is saved. */
  wake(): void {
    this.#resting = false;
    void this.begin();
    if (this.unsaved) void this.save();
  }

  async #beginNow(): Promise<void> {
    const beginning = this.#beginning;
    try {
      if (beginning.kind === 'new') {
        const text = begunText(this.#signatureOf(beginning.accountId));
        this.#become({ written: { ...nothing, text }, error: null });
      } else if (beginning.kind === 'draft') {
        const email = await this.#draft.read(beginning.email);
        this.#keep(email);
        this.#become({ written: writtenOf(email), error: null });
      } else {
        // A draft on the server would lift the conversation in every list, so the first change makes it.
        const email = await this.#draft.preview(`emails:${beginning.kind}`, { id: beginning.email, draft: true });
        this.#keep(email);
        const written = writtenOf(email);
        const text = `\n${begunText(this.#signatureOf(email.accountId), written.text)}`;
        this.#become({ written: { ...written, text }, error: null });
      }
    } catch (error) {
      this.#begun = false;
      this.#become({ error: error as Error });
    }
  }

  write(change: Partial<Written>): void {
    this.#touched = true;
    this.#become({ written: { ...(this.#state.written ?? nothing), ...change }, saving: 'soon' });
    this.#saveIn(pause);
  }

  /** Saves what is not saved yet. @returns whether all of it is. */
  async save(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#over) return true;
    if (this.#resting) return !this.unsaved;
    if (this.#state.saving === 'soon') return this.#inTurn(() => this.#saveNow());
    await this.#queue;
    return !this.unsaved;
  }

  /** Nothing is sent that waits for a file which does not arrive. */
  async attach(file: File): Promise<Attached> {
    const work = this.#attach(file);
    this.#files.add(work);
    const attached = await work;
    this.#files.delete(work);
    return attached;
  }

  async #attach(file: File): Promise<Attached> {
    const there = (): number =>
      this.#state.attachments.filter((each) => isSameFile(each, { filename: file.name, size: file.size })).length;
    const before = there();
    const attached = await this.#withDraft(
      () => this.#draft.attach(file),
      () => there() > before,
    );
    if (!attached.done) this.#missing += 1;
    return attached;
  }

  async detach(file: Attachment): Promise<void> {
    await this.#withDraft(() => {
      const { attachments } = this.#state;
      // Files of a preview get other ids when the draft is made.
      const found = attachments.find(({ id }) => id === file.id) ?? attachments.find((each) => isSameFile(each, file));
      const others = attachments.filter((each) => each !== found);
      return this.#draft.save({ attachments: others.map(({ id }) => ({ id })) });
    });
  }

  /** From another account. A draft stays in its own, so it is made anew there, with its files. */
  async changeAccount(accountId: number): Promise<void> {
    const { written, accountId: before } = this.#state;
    if (written === null || accountId === before) return;
    const text = resigned(written.text, this.#signatureOf(before), this.#signatureOf(accountId));
    this.#become({ written: { ...written, text }, accountId });
    await this.#inTurn(async () => {
      const old = this.#draft.id;
      // A save that was on its way has told of the account before.
      this.#become({ accountId });
      if (old === null) return;
      const now = this.#state.written!;
      const attachments = this.#state.attachments.map(({ id }) => ({ id }));
      const body = { account: accountId, ...bodyOf(now), attachments };
      try {
        const { email } = await this.#draft.make('emails:saveDraft', body, now);
        this.#keep(email);
        this.#become({ saving: this.#state.written === now ? 'saved' : 'soon', error: null });
        await this.#draft.destroy(old);
      } catch (error) {
        this.#become({ ...(this.#draft.id === old && { accountId: before }), error: error as Error });
      }
    });
  }

  /** Into the outbox. @returns the message there, or null where it was refused. */
  async send(): Promise<number | null> {
    if (this.#sending || this.#over) return null;
    this.#sending = true;
    const missing = this.#missing;
    try {
      await Promise.all(this.#files);
      if (this.#missing > missing) return null;
      if (this.#draft.id === null) this.#become({ saving: 'soon' });
      // What is typed while it is saved goes along.
      do if (!(await this.save()) || this.#draft.id === null || this.#over) return null;
      while (this.#state.saving === 'soon');
      return await this.#inTurn(() => this.#sendNow(true));
    } finally {
      this.#sending = false;
    }
  }

  /** Ends a conflict. What is gone is made anew, as it stands here. */
  async settle(how: Settlement): Promise<void> {
    const { conflict, written } = this.#state;
    if (conflict === null || written === null) return;
    if (conflict.kind === 'gone') {
      this.#draft.forget();
      this.#become({ conflict: null, attachments: [], saving: 'soon', error: null });
    } else {
      const { theirs, version } = conflict;
      this.#draft.goOnFrom(version, theirs);
      const both = { ...written, text: `${written.text.trimEnd()}\n\n${theirs.text.trim()}\n` };
      const next = { mine: written, theirs, both }[how];
      this.#become({ conflict: null, written: next, saving: how === 'theirs' ? 'saved' : 'soon', error: null });
    }
    await this.save();
  }

  /** It is put aside; an answer of which nothing was written leaves nothing behind. @returns whether all is saved. */
  async close(): Promise<boolean> {
    if (this.#state.written === null) return true;
    if (this.#touched || this.#beginning.kind === 'draft') return this.save();
    await this.discard();
    return true;
  }

  /** Nothing of it stays. */
  async discard(): Promise<void> {
    this.#over = true;
    await this.#queue;
    if (this.#state.conflict?.kind !== 'gone') await this.#draft.destroy();
  }

  /** @param again a draft that only its flags made another one is sent after all. */
  async #sendNow(again: boolean): Promise<number | null> {
    try {
      const id = await this.#draft.send();
      this.#over = true;
      return id;
    } catch (error) {
      this.#become({ error: error as Error });
      const goesOn = again && isStale(error) && (await this.#lookAgain(this.#state.written!, true));
      return goesOn ? this.#sendNow(false) : null;
    }
  }

  async #saveNow(): Promise<boolean> {
    const { written } = this.#state;
    if (this.#over || this.#resting || !written || this.#state.conflict) return this.#over;
    this.#become({ saving: 'now' });
    try {
      this.#keep(await this.#put(written));
      this.#become({ saving: this.#state.written === written ? 'saved' : 'soon', error: null });
      return true;
    } catch (error) {
      this.#become({ saving: 'soon', error: error as Error });
      if (isStale(error) || isAway(error)) return this.#lookAgain(written, isStale(error));
      if (isLost(error)) this.#saveIn(pauseOffline);
      return false;
    }
  }

  async #put(written: Written): Promise<Email> {
    if (this.#draft.id !== null) return this.#draft.save(bodyOf(written));
    const beginning = this.#beginning;
    const isAnswer = beginning.kind !== 'new' && beginning.kind !== 'draft';
    const path = isAnswer ? beginning.kind : 'saveDraft';
    const place = isAnswer ? { id: beginning.email, draft: true, quote: false } : { account: this.#state.accountId };
    const { email, of } = await this.#draft.make(`emails:${path}`, { ...place, ...bodyOf(written) }, written);
    return of === written ? email : this.#draft.save(bodyOf(written));
  }

  /**
   * A save came too late, or found no draft. Where nothing was written elsewhere (a flag was set, or the reply to a save of
   * ours got lost) it is saved again; else that is for the writer to settle.
   *
   * @param stale it is another version; else the server says that it is out of reach.
   */
  async #lookAgain(written: Written, stale: boolean): Promise<boolean> {
    const now = await this.#draft.look().catch(() => undefined);
    if (now === null) {
      this.#become({ conflict: { kind: 'gone' }, saving: 'soon', error: null });
      return false;
    }
    if (!now || !stale) return false;
    const { theirs, version } = now;
    if (saysTheSame(theirs, this.#draft.told) || saysTheSame(theirs, written)) {
      this.#draft.goOnFrom(version, theirs);
      this.#become({ error: null, saving: 'soon' });
      return this.#saveNow();
    }
    this.#become({ conflict: { kind: 'changed', theirs, version }, saving: 'soon', error: null });
    return false;
  }

  /**
   * Something that needs the draft to be there. Where only flags have made it another one it is done after all.
   *
   * @param isDone whether an earlier attempt had arrived, as the draft shows by now.
   */
  async #withDraft(work: () => Promise<Email>, isDone: () => boolean = () => false): Promise<Attached> {
    if (this.#draft.id === null) this.#become({ saving: 'soon' });
    if (!(await this.save()) || this.#draft.id === null) return { done: false, error: this.#state.error };
    this.#touched = true;
    return this.#inTurn(async () => {
      for (let again = true; ; again = false) {
        try {
          this.#keep(await work());
          this.#become({ error: null });
          return { done: true };
        } catch (caught) {
          const error = caught as Error;
          this.#become({ error });
          const goesOn = again && isStale(error) && (await this.#lookAgain(this.#state.written!, true));
          if (!goesOn) return { done: false, error };
          if (isDone()) return { done: true };
        }
      }
    });
  }

  #keep({ accountId, attachments }: Email): void {
    this.#become({ accountId: accountId ?? this.#state.accountId, attachments: attachments ?? [] });
  }

  #signatureOf(account: number | null): string | null {
    return this.#signatures.get(account ?? 0) ?? null;
  }

  #saveIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), milliseconds);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  #become(change: Partial<DraftState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function isSameFile(one: Pick<Attachment, 'filename' | 'size'>, other: Pick<Attachment, 'filename' | 'size'>): boolean {
  return one.filename === other.filename && one.size === other.size;
}

/**
 * One message while it is written: stored on the server from the first change on, saved a moment after each one, one request
 * after the other, sent once. What is typed is never lost by a refusal: it stays here, and the next save carries all of it. Where the draft has
 * gone on elsewhere, both texts are kept, and the writer settles it.
 */
import type { Client } from '@tablinum/client';
import { ObservableState } from '../../ui/store.ts';
import type { Attachment, Email } from '../mail-types.ts';
import {
  appendSignature,
  type DraftContent,
  emptyContent,
  isSameContent,
  replaceSignature,
  toDraftContent,
  toRequestBody,
} from './draft-content.ts';
import { isNotFound, isOutcomeUnknown, isStale, StoredDraft } from './stored-draft.ts';

/** What a message begins as. */
export type DraftOrigin =
  | { readonly kind: 'new'; readonly accountId: number }
  | { readonly kind: 'reply' | 'replyAll' | 'forward'; readonly email: number; readonly conversation: number }
  | { readonly kind: 'draft'; readonly email: number; readonly conversation: number };

/** The draft has gone on elsewhere: what is there now, or that it is there no more. */
export type Conflict =
  | { readonly kind: 'changed'; readonly theirs: DraftContent; readonly version: string | null }
  | { readonly kind: 'gone' };

/** What became of a file; the error is null where the draft waits for its writer. */
export type AttachResult = { readonly done: true } | { readonly done: false; readonly error: Error | null };

/** How a conflict ends: with what stands here, with what stands there, or with one below the other. */
export type ConflictResolution = 'mine' | 'theirs' | 'both';

export interface DraftState {
  /** Null until it is begun. */
  readonly content: DraftContent | null;
  /** The account that it comes from; null until it is known. */
  readonly accountId: number | null;
  readonly attachments: readonly Attachment[];
  readonly saving: 'no' | 'soon' | 'now' | 'saved';
  readonly conflict: Conflict | null;
  readonly error: Error | null;
}

/** From the last change to its save, and from a save that did not arrive to the next, in milliseconds. */
const saveDelay = 700;
const retryDelay = 4000;

export class DraftSession extends ObservableState<DraftState> {
  readonly #beginning: DraftOrigin;
  readonly #signatures: ReadonlyMap<number, string>;
  readonly #draft: StoredDraft;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #hasBegun = false;
  #isEdited = false;
  #isClosed = false;
  #isSuspended = false;
  #sending = false;
  /** Files on their way, and how many did not arrive. */
  readonly #files = new Set<Promise<AttachResult>>();
  #missing = 0;

  /** @param signatures texts by account, for those that have one. */
  constructor(client: Client, beginning: DraftOrigin, signatures: ReadonlyMap<number, string>) {
    const accountId = beginning.kind === 'new' ? beginning.accountId : null;
    super({ content: null, accountId, attachments: [], saving: 'no', conflict: null, error: null });
    this.#draft = new StoredDraft(client);
    this.#beginning = beginning;
    this.#signatures = signatures;
  }

  /** Something stands here alone. */
  get hasUnsavedChanges(): boolean {
    return !this.#isClosed && (this.state.saving === 'soon' || this.state.saving === 'now');
  }

  /**
   * Discarding it would lose something that somebody has written or attached; files that a forward takes along are not.
   */
  get hasWork(): boolean {
    return this.#isEdited || this.#beginning.kind === 'draft';
  }

  async begin(): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    await this.#enqueue(() => this.#beginNow());
  }

  /** Whoever writes it is not signed in: nothing is asked, in nobody else's name either. */
  suspend(): void {
    this.#isSuspended = true;
    clearTimeout(this.#timer);
  }

  /** Its writer is here: it is begun, and what stands here alone is saved. */
  resume(): void {
    this.#isSuspended = false;
    void this.begin();
    if (this.hasUnsavedChanges) void this.save();
  }

  async #beginNow(): Promise<void> {
    const beginning = this.#beginning;
    try {
      if (beginning.kind === 'new') {
        const text = appendSignature(this.#getSignature(beginning.accountId));
        this.updateState({ content: { ...emptyContent, text }, error: null });
      } else if (beginning.kind === 'draft') {
        const email = await this.#draft.read(beginning.email);
        this.#adoptServerState(email);
        this.updateState({ content: toDraftContent(email), error: null });
      } else {
        // A draft on the server would lift the conversation in every list, so the first change makes it.
        const email = await this.#draft.preview(`emails:${beginning.kind}`, { id: beginning.email, draft: true });
        this.#adoptServerState(email);
        const content = toDraftContent(email);
        const text = `\n${appendSignature(this.#getSignature(email.accountId), content.text)}`;
        this.updateState({ content: { ...content, text }, error: null });
      }
    } catch (error) {
      this.#hasBegun = false;
      this.updateState({ error: error as Error });
    }
  }

  write(change: Partial<DraftContent>): void {
    this.#isEdited = true;
    this.updateState({ content: { ...(this.state.content ?? emptyContent), ...change }, saving: 'soon' });
    this.#saveIn(saveDelay);
  }

  /** Saves what is not saved yet. @returns whether all of it is. */
  async save(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#isClosed) return true;
    if (this.#isSuspended) return !this.hasUnsavedChanges;
    if (this.state.saving === 'soon') return this.#enqueue(() => this.#saveNow());
    await this.#queue;
    return !this.hasUnsavedChanges;
  }

  /** Nothing is sent that waits for a file which does not arrive. */
  async attach(file: File): Promise<AttachResult> {
    const work = this.#attach(file);
    this.#files.add(work);
    const attached = await work;
    this.#files.delete(work);
    return attached;
  }

  async #attach(file: File): Promise<AttachResult> {
    const countMatching = (): number =>
      this.state.attachments.filter((each) => isSameFile(each, { filename: file.name, size: file.size })).length;
    const before = countMatching();
    const attached = await this.#changeDraft(
      () => this.#draft.attach(file),
      () => countMatching() > before,
    );
    if (!attached.done) this.#missing += 1;
    return attached;
  }

  async detach(file: Attachment): Promise<void> {
    await this.#changeDraft(() => {
      const { attachments } = this.state;
      // Files of a preview get other ids when the draft is made.
      const found = attachments.find(({ id }) => id === file.id) ?? attachments.find((each) => isSameFile(each, file));
      const remaining = attachments.filter((each) => each !== found);
      return this.#draft.save({ attachments: remaining.map(({ id }) => ({ id })) });
    });
  }

  /** From another account. A draft stays in its own, so it is made anew there, with its files. */
  async changeAccount(accountId: number): Promise<void> {
    const { content, accountId: before } = this.state;
    if (content === null || accountId === before) return;
    const text = replaceSignature(content.text, this.#getSignature(before), this.#getSignature(accountId));
    this.updateState({ content: { ...content, text }, accountId });
    await this.#enqueue(async () => {
      const old = this.#draft.id;
      // A save that was on its way has told of the account before.
      this.updateState({ accountId });
      if (old === null) return;
      const now = this.state.content!;
      const attachments = this.state.attachments.map(({ id }) => ({ id }));
      const body = { account: accountId, ...toRequestBody(now), attachments };
      try {
        const { email } = await this.#draft.create('emails:saveDraft', body, now);
        this.#adoptServerState(email);
        this.updateState({ saving: this.state.content === now ? 'saved' : 'soon', error: null });
        await this.#draft.destroy(old);
      } catch (error) {
        this.updateState({ ...(this.#draft.id === old && { accountId: before }), error: error as Error });
      }
    });
  }

  /** Into the outbox. @returns the message there, or null where it was refused. */
  async send(): Promise<number | null> {
    if (this.#sending || this.#isClosed) return null;
    this.#sending = true;
    const missing = this.#missing;
    try {
      await Promise.all(this.#files);
      if (this.#missing > missing) return null;
      if (this.#draft.id === null) this.updateState({ saving: 'soon' });
      // What is typed while it is saved goes along.
      do if (!(await this.save()) || this.#draft.id === null || this.#isClosed) return null;
      while (this.state.saving === 'soon');
      return await this.#enqueue(() => this.#sendNow(true));
    } finally {
      this.#sending = false;
    }
  }

  /** Ends a conflict. What is gone is made anew, as it stands here. */
  async resolveConflict(resolution: ConflictResolution): Promise<void> {
    const { conflict, content } = this.state;
    if (conflict === null || content === null) return;
    if (conflict.kind === 'gone') {
      this.#draft.reset();
      this.updateState({ conflict: null, attachments: [], saving: 'soon', error: null });
    } else {
      const { theirs, version } = conflict;
      this.#draft.setBase(version, theirs);
      const both = { ...content, text: `${content.text.trimEnd()}\n\n${theirs.text.trim()}\n` };
      const next = { mine: content, theirs, both }[resolution];
      this.updateState({
        conflict: null,
        content: next,
        saving: resolution === 'theirs' ? 'saved' : 'soon',
        error: null,
      });
    }
    await this.save();
  }

  /** It is put aside; an answer of which nothing was written leaves nothing behind. @returns whether all is saved. */
  async close(): Promise<boolean> {
    if (this.state.content === null) return true;
    if (this.#isEdited || this.#beginning.kind === 'draft') return this.save();
    await this.discard();
    return true;
  }

  /** Nothing of it stays. */
  async discard(): Promise<void> {
    this.#isClosed = true;
    await this.#queue;
    if (this.state.conflict?.kind !== 'gone') await this.#draft.destroy();
  }

  /** @param mayRetryOnce a draft that only its flags made another one is sent after all. */
  async #sendNow(mayRetryOnce: boolean): Promise<number | null> {
    try {
      const id = await this.#draft.send();
      this.#isClosed = true;
      return id;
    } catch (error) {
      this.updateState({ error: error as Error });
      const mayRetry = mayRetryOnce && isStale(error) && (await this.#recoverFromConflict(this.state.content!, true));
      return mayRetry ? this.#sendNow(false) : null;
    }
  }

  async #saveNow(): Promise<boolean> {
    const { content } = this.state;
    if (this.#isClosed || this.#isSuspended || !content || this.state.conflict) return this.#isClosed;
    this.updateState({ saving: 'now' });
    try {
      this.#adoptServerState(await this.#storeContent(content));
      this.updateState({ saving: this.state.content === content ? 'saved' : 'soon', error: null });
      return true;
    } catch (error) {
      this.updateState({ saving: 'soon', error: error as Error });
      if (isStale(error) || isNotFound(error)) return this.#recoverFromConflict(content, isStale(error));
      if (isOutcomeUnknown(error)) this.#saveIn(retryDelay);
      return false;
    }
  }

  async #storeContent(content: DraftContent): Promise<Email> {
    if (this.#draft.id !== null) return this.#draft.save(toRequestBody(content));
    const beginning = this.#beginning;
    const isReply = beginning.kind !== 'new' && beginning.kind !== 'draft';
    const path = isReply ? beginning.kind : 'saveDraft';
    const context = isReply ? { id: beginning.email, draft: true, quote: false } : { account: this.state.accountId };
    const { email, content: savedContent } = await this.#draft.create(
      `emails:${path}`,
      { ...context, ...toRequestBody(content) },
      content,
    );
    return savedContent === content ? email : this.#draft.save(toRequestBody(content));
  }

  /**
   * A save came too late, or found no draft. Where nothing was written elsewhere (a flag was set, or the reply to a save of
   * ours got lost) it is saved again; else that is for the writer to settle.
   *
   * @param isStaleVersion it is another version; else the server says that it is out of reach.
   */
  async #recoverFromConflict(content: DraftContent, isStaleVersion: boolean): Promise<boolean> {
    const now = await this.#draft.fetchCurrent().catch(() => undefined);
    if (now === null) {
      this.updateState({ conflict: { kind: 'gone' }, saving: 'soon', error: null });
      return false;
    }
    if (!now || !isStaleVersion) return false;
    const { theirs, version } = now;
    if (isSameContent(theirs, this.#draft.savedContent) || isSameContent(theirs, content)) {
      this.#draft.setBase(version, theirs);
      this.updateState({ error: null, saving: 'soon' });
      return this.#saveNow();
    }
    this.updateState({ conflict: { kind: 'changed', theirs, version }, saving: 'soon', error: null });
    return false;
  }

  /**
   * Something that needs the draft to be there. Where only flags have made it another one it is done after all.
   *
   * @param isDone whether an earlier attempt had arrived, as the draft shows by now.
   */
  async #changeDraft(work: () => Promise<Email>, isDone: () => boolean = () => false): Promise<AttachResult> {
    if (this.#draft.id === null) this.updateState({ saving: 'soon' });
    if (!(await this.save()) || this.#draft.id === null) return { done: false, error: this.state.error };
    this.#isEdited = true;
    return this.#enqueue(async () => {
      for (let mayRetryOnce = true; ; mayRetryOnce = false) {
        try {
          this.#adoptServerState(await work());
          this.updateState({ error: null });
          return { done: true };
        } catch (caught) {
          const error = caught as Error;
          this.updateState({ error });
          const mayRetry =
            mayRetryOnce && isStale(error) && (await this.#recoverFromConflict(this.state.content!, true));
          if (!mayRetry) return { done: false, error };
          if (isDone()) return { done: true };
        }
      }
    });
  }

  #adoptServerState({ accountId, attachments }: Email): void {
    this.updateState({ accountId: accountId ?? this.state.accountId, attachments: attachments ?? [] });
  }

  #getSignature(account: number | null): string | null {
    return this.#signatures.get(account ?? 0) ?? null;
  }

  #saveIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), milliseconds);
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }
}

function isSameFile(one: Pick<Attachment, 'filename' | 'size'>, other: Pick<Attachment, 'filename' | 'size'>): boolean {
  return one.filename === other.filename && one.size === other.size;
}

/**
 * One message while it is written. It is stored on the server from the first change on, saved shortly after each change
 * with one request at a time, and sent once.
 *
 * A failed save loses nothing: the content stays here, and the next save contains all of it. If the draft was changed
 * elsewhere, both versions are kept until the user resolves the conflict.
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

/** What a message starts from: an empty one, another e-mail, or a stored draft. */
export type DraftOrigin =
  | { readonly kind: 'new'; readonly accountId: number }
  | { readonly kind: 'reply' | 'replyAll' | 'forward'; readonly email: number; readonly conversation: number }
  | { readonly kind: 'draft'; readonly email: number; readonly conversation: number };

/** The draft was changed or deleted elsewhere. */
export type Conflict =
  | { readonly kind: 'changed'; readonly theirs: DraftContent; readonly version: string | null }
  | { readonly kind: 'gone' };

/** The result of attaching a file. The error is null if the draft has an unresolved conflict. */
export type AttachResult = { readonly done: true } | { readonly done: false; readonly error: Error | null };

/** How a conflict is resolved: with this version, with the other one, or with both texts one below the other. */
export type ConflictResolution = 'mine' | 'theirs' | 'both';

export interface DraftState {
  /** Null until the message has been loaded. */
  readonly content: DraftContent | null;
  /** The sending account; null until it is known. */
  readonly accountId: number | null;
  readonly attachments: readonly Attachment[];
  readonly saving: 'no' | 'soon' | 'now' | 'saved';
  readonly conflict: Conflict | null;
  readonly error: Error | null;
}

/** Milliseconds from a change to its save, and from a failed save to the next one. */
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
  /** The running uploads, and the number of failed ones. */
  readonly #files = new Set<Promise<AttachResult>>();
  #missing = 0;

  /** @param signatures the signatures by account id, for accounts that have one. */
  constructor(client: Client, beginning: DraftOrigin, signatures: ReadonlyMap<number, string>) {
    const accountId = beginning.kind === 'new' ? beginning.accountId : null;
    super({ content: null, accountId, attachments: [], saving: 'no', conflict: null, error: null });
    this.#draft = new StoredDraft(client);
    this.#beginning = beginning;
    this.#signatures = signatures;
  }

  /** Some changes are not stored on the server yet. */
  get hasUnsavedChanges(): boolean {
    return !this.#isClosed && (this.state.saving === 'soon' || this.state.saving === 'now');
  }

  /** The user has written or attached something. The attachments of a forwarded message do not count. */
  get hasWork(): boolean {
    return this.#isEdited || this.#beginning.kind === 'draft';
  }

  async begin(): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    await this.#enqueue(() => this.#beginNow());
  }

  /** Stops all requests while the author is not signed in, so that none is sent in the name of another user. */
  suspend(): void {
    this.#isSuspended = true;
    clearTimeout(this.#timer);
  }

  /** Continues after the author has signed in: loads the message if needed, and saves unsaved changes. */
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
        // The draft is only created with the first change, because a stored draft would move the conversation to the
        // top of every list.
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

  /** Saves unsaved changes. @returns whether everything is saved. */
  async save(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#isClosed) return true;
    if (this.#isSuspended) return !this.hasUnsavedChanges;
    if (this.state.saving === 'soon') return this.#enqueue(() => this.#saveNow());
    await this.#queue;
    return !this.hasUnsavedChanges;
  }

  /** Attaches a file. A message is not sent while an upload is running or after it has failed. */
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
      // The attachments of a preview get new ids when the draft is created.
      const found = attachments.find(({ id }) => id === file.id) ?? attachments.find((each) => isSameFile(each, file));
      const remaining = attachments.filter((each) => each !== found);
      return this.#draft.save({ attachments: remaining.map(({ id }) => ({ id })) });
    });
  }

  /**
   * Changes the sending account. A draft cannot change its account, so it is created again in the other one with its
   * attachments.
   */
  async changeAccount(accountId: number): Promise<void> {
    const { content, accountId: before } = this.state;
    if (content === null || accountId === before) return;
    const text = replaceSignature(content.text, this.#getSignature(before), this.#getSignature(accountId));
    this.updateState({ content: { ...content, text }, accountId });
    await this.#enqueue(async () => {
      const old = this.#draft.id;
      // A running save may have reported the previous account.
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

  /** Puts the message into the outbox. @returns its id there, or null if it was not sent. */
  async send(): Promise<number | null> {
    if (this.#sending || this.#isClosed) return null;
    this.#sending = true;
    const missing = this.#missing;
    try {
      await Promise.all(this.#files);
      if (this.#missing > missing) return null;
      if (this.#draft.id === null) this.updateState({ saving: 'soon' });
      // Text that is typed during a save is saved too before the message is sent.
      do if (!(await this.save()) || this.#draft.id === null || this.#isClosed) return null;
      while (this.state.saving === 'soon');
      return await this.#enqueue(() => this.#sendNow(true));
    } finally {
      this.#sending = false;
    }
  }

  /** Resolves a conflict. A deleted draft is created again with the content of this session. */
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

  /**
   * Closes the message and keeps the draft. An unchanged reply leaves no draft. @returns whether everything is saved.
   */
  async close(): Promise<boolean> {
    if (this.state.content === null) return true;
    if (this.#isEdited || this.#beginning.kind === 'draft') return this.save();
    await this.discard();
    return true;
  }

  /** Deletes the draft. */
  async discard(): Promise<void> {
    this.#isClosed = true;
    await this.#queue;
    if (this.state.conflict?.kind !== 'gone') await this.#draft.destroy();
  }

  /** @param mayRetryOnce sends again if only the flags of the draft were changed elsewhere. */
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
   * Handles a save that was refused because the draft has another version or does not exist. If its content was not
   * changed elsewhere (only a flag was set, or the response to our own save was lost), the draft is saved again;
   * otherwise it becomes a conflict.
   *
   * @param isStaleVersion the version differs; otherwise the draft was not found.
   */
  async #recoverFromConflict(content: DraftContent, isStaleVersion: boolean): Promise<boolean> {
    // The server has refused to create the draft, so there is no other version.
    if (this.#draft.id === null) return false;
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
   * Runs a change that needs a stored draft. If only the flags of the draft were changed elsewhere, the change is
   * retried.
   *
   * @param isDone whether the current draft shows that an earlier attempt has succeeded.
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

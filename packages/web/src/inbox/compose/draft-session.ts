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
  beginBody,
  type DraftContent,
  type DraftFormat,
  emptyContent,
  isSameContent,
  joinBodies,
  replaceSignature,
  toRequestBody,
} from './draft-content.ts';
import {
  type ConflictResolution,
  type DraftOptions,
  type DraftOrigin,
  type DraftState,
  emptyState,
  toReference,
} from './draft-state.ts';
import { type AttachOptions, type AttachResult, DraftUploads, isSameFile, listUsedFiles } from './draft-uploads.ts';
import type { Sender, Signature } from './senders.ts';
import { isNotFound, isOutcomeUnknown, isStale, isUnreachable, StoredDraft } from './stored-draft.ts';

/** Milliseconds from a change to its save, and from a failed save to the next one. */
const saveDelay = 700;
const retryDelay = 4000;

export class DraftSession extends ObservableState<DraftState> {
  readonly #beginning: DraftOrigin;
  readonly #senders: readonly Sender[];
  /** The format of new messages and replies. A stored draft has its own. */
  readonly #format: DraftFormat;
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
  /** The files that are being added. */
  readonly uploads = new DraftUploads((file, options) => this.attach(file, options));

  constructor(client: Client, beginning: DraftOrigin, { senders = [], format = 'text' }: DraftOptions = {}) {
    const accountId = beginning.kind === 'new' ? beginning.accountId : null;
    super({ ...emptyState, accountId });
    this.#draft = new StoredDraft(client, new Set(senders.map(({ address }) => address)));
    this.#beginning = beginning;
    this.#senders = senders;
    this.#format = format;
  }

  /** Some changes are not stored on the server yet. */
  get hasUnsavedChanges(): boolean {
    return !this.#isClosed && (this.state.saving === 'soon' || this.state.saving === 'now');
  }

  /** The user has written or attached something. The attachments of a forwarded message do not count. */
  get hasWork(): boolean {
    return this.#isEdited || this.#beginning.kind === 'draft';
  }

  /** The e-mail whose content the quoted message is. */
  get quotedEmail(): number {
    const beginning = this.#beginning;
    if (beginning.kind === 'new') return this.#draft.id ?? 0;
    return beginning.kind === 'draft' ? (this.#draft.id ?? beginning.email) : beginning.email;
  }

  /** The author is not signed in. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** The last request has not reached the server. */
  get isUnreachable(): boolean {
    return isUnreachable(this.state.error);
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
        const body = beginBody(emptyContent, this.#format, this.#getSignature(beginning.accountId, null));
        this.updateState({ content: { ...emptyContent, to: beginning.to ?? [], ...body }, error: null });
      } else if (beginning.kind === 'draft') {
        const email = await this.#draft.read(beginning.email);
        this.#adoptServerState(email);
        this.updateState({ content: this.#draft.toContent(email), error: null });
      } else {
        // The draft is only created with the first change, because a stored draft would move the conversation to the
        // top of every list.
        const format = this.#format === 'html' ? { html: '' } : { text: '' };
        const body = { ...toReference(beginning), ...format };
        const email = await this.#draft.preview(`emails:${beginning.kind}`, body);
        this.#adoptServerState(email);
        const content = this.#draft.toContent(email);
        const begun = beginBody(content, this.#format, this.#getSignature(email.accountId, content.from));
        this.updateState({ content: { ...content, ...begun }, error: null });
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

  /** Reminds the user a number of days after sending if nobody answers; null: never. It holds until the message is closed. */
  readonly remindAfter = (followUpDays: number | null): void => this.updateState({ followUpDays });

  /** Changes the text outside of its field. */
  rewrite(change: Partial<DraftContent>): void {
    this.updateState({ textVersion: this.state.textVersion + 1 });
    this.write(change);
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
  async attach(file: File, options: AttachOptions = {}): Promise<AttachResult> {
    const work = this.#attach(file, options);
    this.#files.add(work);
    const attached = await work;
    this.#files.delete(work);
    return attached;
  }

  async #attach(file: File, options: AttachOptions): Promise<AttachResult> {
    const before = new Set(this.state.attachments.map(({ id }) => id));
    const findAdded = (): readonly Attachment[] =>
      this.state.attachments.filter(
        (each) => !before.has(each.id) && isSameFile(each, { filename: file.name, size: file.size }),
      );
    const attached = await this.#changeDraft(
      () => this.#draft.attach(file, options),
      () => findAdded().length > 0,
    );
    if (attached.done) return attached;
    if (!options.signal?.aborted) {
      this.#missing += 1;
      return attached;
    }
    // The request may have arrived before it was cancelled.
    if (this.#draft.id !== null) await this.#changeDraft(() => this.#draft.read(this.#draft.id!));
    for (const added of findAdded()) await this.detach(added);
    return { done: false, error: null, isCancelled: true };
  }

  /** Removes the pictures that were added to the text and deleted from it later. */
  async #detachUnusedPictures(): Promise<boolean> {
    const { content, attachments } = this.state;
    const used = listUsedFiles(attachments, `${content?.html ?? ''}${content?.quote ?? ''}`);
    if (used.length === attachments.length) return true;
    const change = { attachments: used.map(({ id }) => ({ id })) };
    return (await this.#changeDraft(() => this.#draft.save(change))).done;
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
   * Changes the sender, and its signature in the text. A draft cannot change its account, so it is created again in another
   * one with its attachments.
   */
  async changeSender({ accountId, address }: Pick<Sender, 'accountId' | 'address'>): Promise<void> {
    const { content, accountId: before } = this.state;
    if (content === null || (accountId === before && address === content.from)) return;
    const [old, next] = [this.#getSignature(before, content.from), this.#getSignature(accountId, address)];
    const changed = { ...content, from: address, ...replaceSignature(content, old, next) };
    if (accountId === before) {
      this.rewrite(changed);
      return;
    }
    this.updateState({ content: changed, textVersion: this.state.textVersion + 1, accountId });
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

  /**
   * Puts the message into the outbox.
   *
   * @param sendAt ISO 8601; null: as soon as possible. @returns its id there, or null if it was not sent.
   */
  async send(sendAt: string | null = null): Promise<number | null> {
    if (this.#sending || this.#isClosed || this.#isSuspended) return null;
    this.#sending = true;
    const missing = this.#missing;
    try {
      await Promise.all(this.#files);
      if (this.#missing > missing) return null;
      if (this.#draft.id === null) this.updateState({ saving: 'soon' });
      // Text that is typed during a save is saved too before the message is sent.
      do if (!(await this.save()) || this.#draft.id === null || this.#isClosed) return null;
      while (this.state.saving === 'soon');
      if (!(await this.#detachUnusedPictures())) return null;
      return await this.#enqueue(() => this.#sendNow(sendAt, true));
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
      const both = { ...content, ...joinBodies(content, theirs) };
      const next = { mine: content, theirs, both }[resolution];
      this.updateState({
        conflict: null,
        textVersion: this.state.textVersion + 1,
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
  async #sendNow(sendAt: string | null, mayRetryOnce: boolean): Promise<number | null> {
    try {
      const id = await this.#draft.send(sendAt, this.state.followUpDays);
      this.#isClosed = true;
      return id;
    } catch (error) {
      this.updateState({ error: error as Error });
      const mayRetry = mayRetryOnce && isStale(error) && (await this.#recoverFromConflict(this.state.content!, true));
      return mayRetry ? this.#sendNow(sendAt, false) : null;
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
    const context = isReply ? { ...toReference(beginning), quote: false } : { account: this.state.accountId };
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
          if (error.name === 'AbortError') return { done: false, error: null };
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

  /** @param address null: that of the account. */
  #getSignature(account: number | null, address: string | null): Signature | null {
    const senders = this.#senders.filter(({ accountId }) => accountId === account);
    return (senders.find((each) => each.address === address) ?? senders[0])?.signature ?? null;
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

/** The state of a message while it is written, and what it starts from. */
import type { Attachment } from '../mail-types.ts';
import type { DraftContent, DraftFormat } from './draft-content.ts';
import type { Sender } from './senders.ts';

/** What a message starts from: an empty one, another e-mail, or a stored draft. */
export type DraftOrigin =
  | { readonly kind: 'new'; readonly accountId: number; readonly to?: readonly string[] }
  | {
      readonly kind: 'reply' | 'replyAll' | 'forward';
      readonly email: number;
      readonly conversation: number;
      /** Forwards the whole message as a file instead of quoting it. */
      readonly asAttachment?: boolean;
    }
  | { readonly kind: 'draft'; readonly email: number; readonly conversation: number };

/** The draft was changed or deleted elsewhere. */
export type Conflict =
  | { readonly kind: 'changed'; readonly theirs: DraftContent; readonly version: string | null }
  | { readonly kind: 'gone' };

/** How a conflict is resolved: with this version, with the other one, or with both texts one below the other. */
export type ConflictResolution = 'mine' | 'theirs' | 'both';

export interface DraftState {
  /** Null until the message has been loaded. */
  readonly content: DraftContent | null;
  /** Changes when the text is changed outside of its field, which then shows the new text. */
  readonly textVersion: number;
  /** The sending account; null until it is known. */
  readonly accountId: number | null;
  readonly attachments: readonly Attachment[];
  /** Days after sending after which the user is reminded if nobody answers; null: never. */
  readonly followUpDays: number | null;
  readonly saving: 'no' | 'soon' | 'now' | 'saved';
  readonly conflict: Conflict | null;
  readonly error: Error | null;
}

export interface DraftOptions {
  /** Addresses that the user can send from, with their signatures. */
  readonly senders?: readonly Sender[];
  readonly format?: DraftFormat;
}

/** The e-mail that a reply refers to, in a request. */
export function toReference({ email, asAttachment = false }: Extract<DraftOrigin, { asAttachment?: boolean }>): object {
  return { id: email, draft: true, ...(asAttachment && { asAttachment }) };
}

/** A message that is not loaded yet. */
export const emptyState: DraftState = {
  content: null,
  textVersion: 0,
  accountId: null,
  attachments: [],
  followUpDays: null,
  saving: 'no',
  conflict: null,
  error: null,
};

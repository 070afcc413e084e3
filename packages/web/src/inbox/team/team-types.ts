/** The types of what the members of an account do together. */
export type ConversationState = 'open' | 'closed' | 'snoozed' | 'archived';

/** The fields of a conversation that its team sets. */
export interface TeamFields {
  readonly state: ConversationState;
  readonly assigneeId: number | null;
  /** ISO 8601; null unless it is snoozed. */
  readonly snoozedUntil: string | null;
  readonly muted: boolean;
  /** When a user is reminded if nobody answers, ISO 8601; null: no reminder. */
  readonly followUpAt?: string | null;
}

export interface Note {
  readonly id: number;
  readonly conversationId: number;
  readonly authorId: number | null;
  readonly text: string;
  readonly mentions: readonly number[] | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** One change of a conversation, of its history. */
export interface HistoryEntry {
  readonly id: number;
  readonly at: string;
  /** `user:3`; null: the server. */
  readonly actor: string | null;
  readonly changes: readonly { readonly field: string; readonly before: unknown; readonly after: unknown }[];
}

export interface MailNotification {
  readonly id: number;
  readonly kind: 'mention' | 'assignment' | 'returned' | 'followUp';
  readonly conversationId: number;
  readonly actorId: number | null;
  readonly at: string;
  readonly read: boolean;
  readonly conversation?: { readonly subject: string | null; readonly accountId: number } | null;
}

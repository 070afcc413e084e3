/** Reads, compares and applies the whole schema as a document. The role needs `allowConfigure`. */
import type { RecordValues } from './dto.ts';
import type { Transport } from './transport.ts';

export interface SchemaDocument {
  readonly format: number;
  readonly collections?: readonly RecordValues[];
  readonly roles?: readonly RecordValues[];
  readonly webhooks?: readonly RecordValues[];
}

/** The wanted schema: a document, or the number of a revision. */
export interface SchemaRequest {
  readonly schema?: SchemaDocument;
  /** The result of a revision; 0: before the first, null: before the last. */
  readonly to?: number | null;
  readonly allowDestructive?: boolean;
  /** The `state` from `pull` or `diff`: the request is refused if the schema has been changed since. */
  readonly state?: string;
  /** A sentence for the list of revisions. */
  readonly summary?: string;
}

export interface AppliedSchema {
  /** Null: nothing differed. */
  readonly revision: number | null;
  readonly steps: readonly RecordValues[];
  readonly restored: readonly string[];
}

export class SchemaDocuments {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads the present schema. Definitions without a portable id get one. */
  pull(): Promise<{ readonly state: string; readonly schema: SchemaDocument }> {
    return this.#post('pull');
  }

  /** The steps that would make the schema equal to a document. */
  diff(
    request: Pick<SchemaRequest, 'schema' | 'to'>,
  ): Promise<{ readonly same: boolean; readonly steps: readonly RecordValues[] }> {
    return this.#post('diff', request);
  }

  /** Makes the schema equal to a document, in one transaction. */
  apply(request: Omit<SchemaRequest, 'to'>): Promise<AppliedSchema> {
    return this.#post('apply', request);
  }

  /** Restores the schema of an earlier revision, as a new revision. */
  rollback(request: Omit<SchemaRequest, 'schema'> = {}): Promise<AppliedSchema> {
    return this.#post('rollback', request);
  }

  async #post<T>(action: string, body?: SchemaRequest): Promise<T> {
    const options = body === undefined ? { method: 'POST' as const } : { method: 'POST' as const, body };
    return (await this.#transport.call<T>(`schema:${action}`, options)).data;
  }
}

/** The full-text index of mail, as an engine implements it. Tokens consist of letters, digits and characters of private use. */
import type { Param, Sql } from './sql.ts';

/**
 * The tokens of an e-mail by column: its words in order, without case and accents. After them come tokens that begin with
 * a character of private use (stems, for example), whose order has no meaning.
 */
export interface FullTextEntry extends Readonly<Record<FullTextColumn, readonly string[]>> {
  readonly id: number;
  readonly account: number;
}

/** `files`: the names of the attachments. */
export type FullTextColumn = 'subject' | 'sender' | 'recipients' | 'body' | 'files';

/** Columns whose words have stems; names of people have none. */
export const stemmedColumns: readonly FullTextColumn[] = ['subject', 'body', 'files'];

/** A phrase in one of some columns, or one of some stems, or the negation of both. */
export interface FullTextTerm {
  readonly columns: readonly FullTextColumn[];
  /** Words that follow each other. */
  readonly words: readonly string[];
  /** The last word may be the beginning of a longer one. */
  readonly prefix: boolean;
  /** Tokens that match as well, in those of the columns that are {@link stemmedColumns}. */
  readonly stems: readonly string[];
  readonly not: boolean;
}

export interface FullTextIndex {
  insert(entries: readonly FullTextEntry[]): Sql;
  remove(ids: Param): Sql;
  /** Replaces the tokens of an e-mail, if it is still indexed and the condition holds. */
  replace(entry: FullTextEntry, condition: Sql): Sql;
  /** All terms as one expression, for the `expression` parameters below. */
  expression(terms: readonly FullTextTerm[]): string;
  /** Whether the e-mail `email` (an alias) matches. */
  matchesEmail(email: Sql, lookup: FullTextLookup): Sql;
  /** Whether one e-mail, by its key and account, matches. Evaluated row by row, so that a LIMIT ends the evaluation. */
  matchesKey(key: Sql, account: Sql, expression: Param): Sql;
  /** For an index that gives matches in the order of their keys, so that a page needs no sort; else null. */
  readonly inKeyOrder: {
    readonly table: Sql;
    readonly key: Sql;
    matches(lookup: FullTextLookup): Sql;
  } | null;
  readonly candidateScan: CandidateScanSql;
}

/** The search in the index, and the accounts to search. */
export interface FullTextLookup {
  readonly expression: Param;
  /**
   * A query, with the column `a`, for the accounts to search. An index may skip e-mails of other accounts; the
   * statement must exclude them itself.
   */
  readonly accounts: Sql;
}

/** The parts of a candidate scan that engines write differently; see query/candidate-scan.ts for the whole statement. */
export interface CandidateScanSql {
  /** How many records of a list are worth testing one by one before all matches are looked up. A multiple of ten. */
  readonly probeLimit: number;
  /** The first records of each group of the CTE `visible_groups`: `group_key`, `id`, `sort_value`. */
  candidates(rows: CandidateRows): Sql;
  /** All matching keys, as a query with the column `id`, and a LIMIT clause. The engine evaluates neither unless `isNeeded` holds. */
  lookUp(lookup: ConditionalLookup): { readonly keys: Sql; readonly limit: Sql };
  /** The rest of a list of e-mails that is sorted by key: a query with the column `id`. */
  remainderByKey(remainder: KeyRemainder): Sql;
}

/** All names are quoted. */
export interface CandidateRows {
  readonly table: string;
  readonly key: string;
  readonly sortColumn: string;
  /** FROM, WHERE, ORDER BY and LIMIT about the rows `r` of the group `visible_groups.group_key`. */
  readonly rowsOfGroup: Sql;
}

export interface ConditionalLookup extends FullTextLookup {
  readonly isNeeded: Sql;
  readonly maxRecords: number;
}

export interface KeyRemainder extends ConditionalLookup {
  readonly table: string;
  readonly key: string;
  /** Whether a key is at or after the point where the scan stopped. */
  readonly isBeyond: (key: Sql) => Sql;
  /** Whether the list shows the row `r`. */
  readonly isVisible: Sql;
  readonly descending: boolean;
}

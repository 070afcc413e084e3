/** Dimensions of queries that are fields with lists: a record belongs to the group of each text in its list. */
import type { Dialect } from '../database/dialect.ts';
import { identifier, type Sql, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { ParsedDimension } from '../protocol/query-request.ts';
import { requireColumn } from '../schema/field-parts.ts';
import type { Collection } from '../schema/registry.ts';
import type { Grant } from './grant.ts';
import { requireReadableField } from './read-access.ts';

/** The list by whose elements a query groups. */
export interface ListDimension {
  readonly dimension: ParsedDimension;
  /** Joins the different texts of the list to each record; records without any are joined to null. */
  readonly join: Sql;
  /** The text by which the query groups. */
  readonly value: Sql;
}

/** The name of the joined elements in the statement. */
const alias = 'elements';

/**
 * The dimension of a query that is a list of the collection itself; null if there is none. Elements that are no texts are ignored.
 *
 * @throws ApiError 400 for a second list, whose elements would multiply the records, and for a format; 403 for a denied field.
 */
export function planListDimension(
  dimensions: readonly ParsedDimension[],
  collection: Collection,
  grant: Grant,
  dialect: Dialect,
): ListDimension | null {
  const [dimension, second] = dimensions.filter(({ field }) =>
    collection.byName.get(field)?.type.operators.has('array'),
  );
  if (!dimension) return null;
  const field = requireReadableField(collection, dimension.field, grant);
  if (second)
    throw new ApiError(
      'PARAMETER_INVALID',
      `A query can group by at most one list field, but "${dimension.field}" and "${second.field}" are both lists. Remove one of them.`,
    );
  if (dimension.format !== null)
    throw new ApiError(
      'OPERATOR_MISFIT',
      `"format" can only be used with dates; "${dimension.field}" has the type ${field.type.name}.`,
    );
  const column = sql`${identifier(collection.table)}.${identifier(requireColumn(field))}`;
  const { rows, text } = dialect.distinctTexts(column, alias);
  return { dimension, join: sql` LEFT JOIN ${rows} ON true`, value: text };
}

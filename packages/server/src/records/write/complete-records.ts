import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import { describeRecordFiles } from './file-values.ts';
import type { CheckedRecord } from './record-input.ts';
import { hashAllRecordSecrets } from './secrets.ts';

/**
 * Replaces the ids of files and the passwords in checked records by what is stored of them, before their transaction begins.
 *
 * @param isList details of problems are named with the index of the record.
 * @returns the records, without a promise if the collection has neither files nor passwords.
 * @throws ApiError as {@link describeRecordFiles} and {@link hashAllRecordSecrets}.
 */
export function completeRecords(
  records: readonly CheckedRecord[],
  collection: Collection,
  context: RecordContext,
  isList = false,
): readonly CheckedRecord[] | Promise<readonly CheckedRecord[]> {
  const hasAny = collection.fields.some(({ type }) => type.secret || type.name === 'file');
  return hasAny ? completeEach(records, collection, context, isList) : records;
}

async function completeEach(
  records: readonly CheckedRecord[],
  collection: Collection,
  context: RecordContext,
  isList: boolean,
): Promise<readonly CheckedRecord[]> {
  const described = await describeRecordFiles(records, collection, context, isList);
  return hashAllRecordSecrets(described, collection, context);
}

import { hashPassword } from '../identity/password.ts';
import type { Collection } from '../schema/registry.ts';
import type { CheckedRecord } from './record-input.ts';

/** Puts hashes in place of the checked passwords of records. Takes its time, so it runs before any transaction. */
export async function withHashedSecrets(
  records: readonly CheckedRecord[],
  collection: Collection,
): Promise<readonly CheckedRecord[]> {
  const secrets = collection.fields.filter((field) => field.type.secret).map((field) => field.name);
  if (!records.some(({ values }) => secrets.some((name) => values[name] != null))) return records;
  return Promise.all(
    records.map(async (record) => {
      const values: Record<string, unknown> = { ...record.values };
      for (const name of secrets) if (values[name] != null) values[name] = await hashPassword(values[name] as string);
      return { ...record, values };
    }),
  );
}

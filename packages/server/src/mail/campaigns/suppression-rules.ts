import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { parseMailAddress } from '../compose/mail-input.ts';

const serverManaged = new Set(['reason', 'campaignId', 'campaign']);

/** Members of an account add addresses and remove them. A stored one is not changed. */
export const suppressionRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  async prepare(body, key): Promise<PreparedBody> {
    if (key !== null)
      throw new ApiError(
        'SYSTEM_PROTECTED',
        'A suppressed address cannot be changed. Destroy it, and create another one.',
      );
    if (!isObject(body)) return { body: body as Body };
    const row = Object.fromEntries(Object.entries(body).filter(([name]) => !serverManaged.has(name)));
    const address = parseMailAddress(row['address']);
    if (!address) throw invalidValues({ address: 'Give one e-mail address, such as ann@example.com.' });
    if (row['accountId'] == null && row['account'] == null)
      throw invalidValues({ accountId: 'Name the account by its id. You must be its owner or a member.' });
    return { body: { ...row, address: address.address.toLowerCase() } };
  },
};

import { ApiError } from '../../protocol/api-error.ts';
import type { RecordRules } from '../../records/record-rules.ts';

/** Only the server writes the messages of campaigns. */
export const campaignMessageRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,
  prepare() {
    throw refuse();
  },
  guard() {
    throw refuse();
  },
};

function refuse(): ApiError {
  return new ApiError(
    'SYSTEM_PROTECTED',
    'The server writes the messages of campaigns. They are deleted with their campaign.',
  );
}

import { ApiError } from '../../protocol/api-error.ts';
import type { RecordRules } from '../record-rules.ts';

/** Files are uploaded, and do not change. Their uploader can destroy those that no record refers to. */
export const fileRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,
  prepare: (_, key) =>
    Promise.reject(
      new ApiError(
        'SYSTEM_PROTECTED',
        key === null ? 'Files are created by files:upload.' : 'A file does not change. Upload another one.',
      ),
    ),
};

import {
  collections,
  definition,
  diagram,
  indexAdvice,
  indexes,
  relation,
  searchIndexes,
  types,
} from './collections.ts';
import { files } from './files.ts';
import { record, records } from './records.ts';

/** Texts of the pages of collections and records, and of the API reference. */
export const data = {
  collections,
  definition,
  types,
  relation,
  indexes,
  searchIndexes,
  indexAdvice,
  diagram,
  records,
  record,
  files,
  docs: {
    title: 'API',
    description: 'The endpoints that your role can use. You can try them out here.',
    own: 'Open in a new page',
    frame: 'API reference',
  },
};

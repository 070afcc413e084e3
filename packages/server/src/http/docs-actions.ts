import { DocumentCache, unpacked } from '../openapi/document-cache.ts';
import { subjectOf } from '../openapi/subject.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { codingFor, tagOf } from './compression.ts';
import { knownParameters } from './known-parameters.ts';
import { statusOf } from './status.ts';

/** `docs:`, for whoever asks: without a credential it is the public part. */
export const docsActions: Readonly<Record<string, SystemAction>> = {
  'docs:openapi': { reads: true, run: openapi },
};

const keptBytes = 32 * 1024 * 1024;
const documents = new DocumentCache(keptBytes);

async function openapi(call: Call): Promise<Answer> {
  knownParameters(call, [], false);
  const { application, caller, requestId, acceptEncoding } = call;
  const context = application.recordContext(caller, requestId);
  const kept = await documents.of(subjectOf(application, context, statusOf), context.access);
  const coding = codingFor(acceptEncoding, ['gzip']);
  return {
    document: coding === null ? await unpacked(kept) : kept.packed,
    encoding: coding,
    tag: tagOf(`"0.${kept.hash}"`, coding),
  };
}

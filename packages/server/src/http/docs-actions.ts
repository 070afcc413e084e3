import { DocumentCache, unpackDocument } from '../openapi/document-cache.ts';
import { createSubject } from '../openapi/subject.ts';
import { addCodingToEtag, negotiateCoding } from './compression.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { statusByLabel } from './status.ts';

/** The `docs` actions. Without a credential, the document only describes the public part. */
export const docsActions: Readonly<Record<string, SystemAction>> = {
  'docs:openapi': { reads: true, run: runOpenapi },
};

const maxCacheBytes = 32 * 1024 * 1024;
const documentCache = new DocumentCache(maxCacheBytes);

async function runOpenapi(request: RequestContext): Promise<ActionResult> {
  readKnownParameters(request, [], false);
  const { application, caller, requestId, headers } = request;
  const context = application.recordContext(caller, requestId);
  const cached = await documentCache.get(createSubject(application, context, statusByLabel), context.access);
  const coding = negotiateCoding(headers['accept-encoding'], ['gzip']);
  return {
    document: coding === null ? await unpackDocument(cached) : cached.packed,
    encoding: coding,
    tag: addCodingToEtag(`"0.${cached.hash}"`, coding),
  };
}

import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import { isoTime } from '../base/clock.ts';
import { type AdviceContext, findMissingIndexes, findUnneededIndexes } from '../collections/index-advice.ts';
import { ApiError } from '../protocol/api-error.ts';
import { permissionDenied } from '../query/read-access.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection, Registry } from '../schema/registry.ts';
import { requireCollection } from './definition-reads.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** The actions about indexes. */
export const indexActions: Readonly<Record<string, SystemAction>> = {
  'indexes:advice': { reads: true, run: runAdvice },
};

/** Identifies the server and thread that has recorded the requests. */
const server = `${hostname().slice(0, 60)}:${process.pid}${threadId === 0 ? '' : `/${threadId}`}`;

/**
 * The indexes that are missing or not needed, according to the requests to this server. For roles that may read and
 * change definitions; other roles than `admin` only see collections and fields whose records they may list without a
 * row filter.
 */
async function runAdvice(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, zone } = request;
  const context = application.recordContext(caller, requestId, zone);
  for (const action of ['list', 'update'])
    if (!context.findGrant('collections', action)) throw permissionDenied('collections', action);
  const { collectionName } = readKnownParameters(request, ['collectionName'], false);
  const { shapes, clock } = application;
  await shapes.settle();
  const { registry } = context;
  const advice: AdviceContext = { shapes, registry, now: clock.now(), maySee: createVisibility(context) };
  const collections = selectCollections(registry, collectionName).filter((each) => advice.maySee(each, []));
  return {
    data: JSON.stringify({
      since: isoTime(shapes.since),
      server,
      missing: findMissingIndexes(advice, collections),
      unneeded: collections.flatMap((each) => findUnneededIndexes(advice, each)),
    }),
  };
}

function createVisibility({ findGrant }: RecordContext): AdviceContext['maySee'] {
  return ({ name }, fields) => {
    const grant = findGrant(name, 'list');
    return grant !== null && grant.rows === null && fields.every((field) => grant.may(field));
  };
}

/** The collections whose indexes requests can change: all of them, or the one that is named. */
function selectCollections(registry: Registry, name: unknown): Collection[] {
  if (name === undefined) return registry.all().filter(({ system, internal }) => !system && !internal);
  if (typeof name !== 'string' || name === '')
    throw new ApiError('PARAMETER_INVALID', 'The parameter "collectionName" must be the name of a collection.');
  return [requireCollection(registry, name)].filter(({ system }) => !system);
}

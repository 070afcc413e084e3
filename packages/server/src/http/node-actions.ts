/** The nodes of a Citus cluster: where applications are, and moving them. Only for administrators of `main`; loaded when first needed. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import { readStoresByName } from '../database/application-rows.ts';
import { coordinatorName, type StorePlacements } from '../database/store-nodes.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import { permissionDenied } from '../query/read-access.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

/** Begins to move an application. @returns its name; the record of the application shows the progress of the move. */
export async function beginNodeMove(request: RequestContext, name: string): Promise<void> {
  if (request.caller.role !== adminRole) throw permissionDenied('applications', 'move');
  const { body, applications } = request;
  const node = isObject(body) && Object.keys(body).length === 1 ? body['node'] : undefined;
  if (typeof node !== 'string' || node === '')
    throw new ApiError(
      'BODY_INVALID',
      'The body must be {"node": "<host>:<port>"}, the node to move to. applications:nodes shows the nodes.',
    );
  await (await applications.nodeMoves()).begin(name, node);
}

/** The nodes with the applications on them and their sizes; none if there is no cluster. */
export async function listNodes(request: RequestContext): Promise<ActionResult> {
  const { caller, applications } = request;
  if (caller.role !== adminRole) throw permissionDenied('applications', 'nodes');
  readKnownParameters(request, [], false);
  const cluster = await (await applications.nodeMoves()).findCluster();
  if (!cluster) return { data: '[]' };
  const [usage, placements, stores] = await Promise.all([
    cluster.usage(),
    cluster.placements(),
    readStoresByName(applications.main.database),
  ]);
  const placed = stores.map(([name, store]) => ({ name, store, node: findNode(placements, name, store) }));
  const nodes = usage.map(({ node, isTarget, isAvailable, findSize }) => ({
    node,
    isTarget,
    isAvailable,
    applications: placed
      .filter((each) => each.node === node)
      .map(({ name, store }) => ({ name, bytes: isAvailable ? findSize(store) : null })),
  }));
  return { data: JSON.stringify(nodes) };
}

const findNode = (placements: StorePlacements, name: string, store: string): string =>
  name === mainApplicationName ? coordinatorName : placements.find(store).node;

/** Adds node and latest move to the records of applications, for administrators, unless the request selects fields. */
export async function addPlacements(request: RequestContext, result: ActionResult): Promise<ActionResult> {
  const { caller, applications } = request;
  if (caller.role !== adminRole || !('data' in result)) return result;
  const { fields, except } = request.recordRequest();
  const cluster = await (await applications.nodeMoves()).findCluster();
  if (cluster === null || fields !== null || except !== null) return result;
  const [placements, stores] = await Promise.all([
    cluster.placements(),
    readStoresByName(applications.main.database).then((rows) => new Map(rows)),
  ]);
  const add = (text: string): string => {
    const name = String((JSON.parse(text) as { readonly name?: unknown }).name);
    const store = stores.get(name);
    const placement =
      name === mainApplicationName ? { node: coordinatorName, move: null } : store && placements.find(store);
    return placement ? `${text.slice(0, -1)},${JSON.stringify(placement).slice(1)}` : text;
  };
  const data = result.data.startsWith('[') ? `[${splitObjects(result.data).map(add).join(',')}]` : add(result.data);
  return { ...result, data };
}

/** The texts of the objects in a JSON array. They are not parsed and written again, because that would round large numbers. */
function splitObjects(text: string): string[] {
  const objects: string[] = [];
  let [depth, start] = [0, 0];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g))
    if (token === '{') {
      if (depth === 0) start = index;
      depth += 1;
    } else if (token === '}') {
      depth -= 1;
      if (depth === 0) objects.push(text.slice(start, index + 1));
    }
  return objects;
}

/** A new application and the node on which it is placed; null: the server chooses one. */
export interface PlacedApplication {
  readonly body: Readonly<Record<string, unknown>>;
  readonly node: string | null;
}

/** Takes the node out of the body of a new application. @throws ApiError if it is not a node. */
export async function takeNode(
  { caller, applications }: RequestContext,
  { node, ...body }: Readonly<Record<string, unknown>>,
): Promise<PlacedApplication> {
  if (node === undefined || node === null) return { body, node: null };
  if (caller.role !== adminRole) throw permissionDenied('applications', 'move');
  const cluster = await (await applications.nodeMoves()).findCluster();
  if (!cluster)
    throw new ApiError('BODY_INVALID', '"node" can only be given if the data of the server is on a Citus cluster.');
  if (typeof node !== 'string') throw new ApiError('BODY_INVALID', '"node" must be text, such as "worker1:5432".');
  await cluster.requireTarget(node);
  return { body, node };
}

/** Places an application that was just created, before its store is. */
export async function placeApplication({ applications }: RequestContext, name: string, node: string): Promise<void> {
  const cluster = await (await applications.nodeMoves()).requireCluster();
  const stores = new Map(await readStoresByName(applications.main.database));
  const store = stores.get(name);
  if (store !== undefined) await cluster.place(store, node);
}

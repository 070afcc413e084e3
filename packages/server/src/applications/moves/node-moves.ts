/**
 * Moves of applications to other nodes of a cluster, while they are used. Only one of them, or a backup or restore, runs at a time on all
 * servers. Loaded when it is first needed.
 */
import type { BackupSource } from '../../base/backup-config.ts';
import { type BegunMove, type ClusterStores, holdName } from '../../database/store-nodes.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { rejectMain } from '../application-list.ts';
import type { ApplicationStores } from '../application-stores.ts';
import type { Applications } from '../applications.ts';
import type { Backups } from '../backups/backups.ts';
import { runBackupTask } from '../backups/run-backup-task.ts';

export interface NodeMovesParts {
  readonly applications: Applications;
  readonly stores: Pick<ApplicationStores, 'nodes' | 'group'>;
  readonly source: BackupSource;
}

/** How long other servers have to end their work with the application on the old node after they notice a move. */
const leaveMilliseconds = 20_000;
const interrupted = 'The server that ran the move has stopped, or has lost its connection to the coordinator.';

export class NodeMoves {
  readonly #parts: NodeMovesParts;
  readonly #stopping = new AbortController();

  constructor(parts: NodeMovesParts) {
    this.#parts = parts;
  }

  /** The stores on the nodes; null if there is no cluster. */
  async findCluster(): Promise<ClusterStores | null> {
    const { nodes } = this.#parts.stores;
    return nodes !== null && (await nodes.isCluster()) ? nodes.load() : null;
  }

  /** @throws ApiError if there is no cluster. */
  async requireCluster(): Promise<ClusterStores> {
    const cluster = await this.findCluster();
    if (cluster) return cluster;
    throw new ApiError('MOVE_REFUSED', 'The data of this server is not on a Citus cluster, so there are no nodes.');
  }

  /**
   * Begins to move an application in the background. `applications:get` shows how far it is.
   *
   * @throws ApiError
   */
  async begin(name: string, node: string): Promise<void> {
    rejectMain(name, 'moved to another node');
    const { applications } = this.#parts;
    const cluster = await this.requireCluster();
    await cluster.requireTarget(node);
    await this.requireNone(name, await applications.requireMovable(name));
    const { backups } = await applications.backups();
    await backups.runOther<void>(async (onBegun) => {
      const move = await cluster.beginMove(await applications.requireMovable(name), node);
      onBegun();
      await this.#run(name, move, cluster);
    });
  }

  /** @throws ApiError if a move of the application has not ended. */
  async requireNone(name: string, store: string): Promise<void> {
    const cluster = await this.findCluster();
    if (!cluster) return;
    const isMoving = async (): Promise<boolean> => {
      const { move } = (await cluster.placements()).find(store);
      return move !== null && move.step !== null;
    };
    if (!(await isMoving())) return;
    await (await this.#parts.applications.backups()).backups.settle();
    if (await isMoving())
      throw new ApiError(
        'MOVE_REFUSED',
        `The application "${name}" is being moved to another node. Wait until that has ended: applications:get shows it.`,
      );
  }

  async #run(name: string, move: BegunMove, cluster: ClusterStores): Promise<void> {
    const { applications, source } = this.#parts;
    const { logger } = applications.main;
    const { signal } = this.#stopping;
    const described = { application: name, from: move.from.name, to: move.to.name };
    let problem = interrupted;
    try {
      await this.#waitUntilLeft(move);
      await runBackupTask(source, { kind: 'copyToNode', move }, { signal });
      await cluster.finishMove(move, signal);
      void applications.closeMoved().catch(() => {}); // if this fails, the next request or tick closes them
      logger.info(described, 'An application was moved to another node.');
    } catch (error) {
      problem = (error as Error).message;
      logger.error({ ...described, problem }, 'The move of an application to another node has failed.');
    }
    // A stopping server has no time to settle the move. The next start, or another server, does it.
    if (!signal.aborted) await settle(cluster, problem, applications);
  }

  /**
   * Waits until no server still uses the node that the application left in an earlier move. Such a server would read
   * and write the new copy, because its schema has the same name.
   *
   * @throws Error if that takes too long.
   */
  async #waitUntilLeft({ store, to }: BegunMove): Promise<void> {
    const group = this.#parts.stores.group();
    if (group && !(await group.waitUntilClosed(holdName(store, to.id), leaveMilliseconds)))
      throw new Error(
        `A server still uses the application on the node "${to.name}", where it was before. Try again when that server has noticed the move.`,
      );
  }

  close(): void {
    this.#stopping.abort();
  }
}

/** Settles the moves of servers that have died. Call it with the lock of backups, so that none of them still runs. */
export async function settleNodeMoves(backups: Backups): Promise<void> {
  const { applications, stores } = backups.parts;
  if (stores.nodes === null || !(await stores.nodes.isCluster())) return;
  await settle(await stores.nodes.load(), interrupted, applications);
}

/** A node that does not reply does not prevent other work. The move is settled when it replies again. */
async function settle(cluster: ClusterStores, problem: string, { main }: Applications): Promise<void> {
  await cluster.settle(problem).catch((error: unknown) => {
    main.logger.warn({ problem: (error as Error).message }, 'A move to another node could not be settled yet.');
  });
}

/** The nodes of a cluster that contain the stores of applications. Only PostgreSQL can have several. */
import type { Database } from './database.ts';

/** The name of the node that lists the others. */
export const coordinatorName = 'coordinator';

/** A node, and what it contains. */
export interface NodeUsage {
  /** `host:port`, or `coordinator`. */
  readonly node: string;
  /** Whether new applications can be placed on it, and others moved to it. */
  readonly isTarget: boolean;
  readonly isAvailable: boolean;
  /** The approximate size of a store in bytes, with its tables, indexes and files in the database; null if it is not on the node. */
  readonly findSize: (store: string) => number | null;
}

/**
 * The step of a move. `copying`: the store is used as before. `switching`: it is locked, and nothing may write it.
 * `cleaning`: it is used on the new node, and the old node still has remains. `undoing` and `cancelling`: the move has
 * failed; the store is given back to the old node, and then the remains on the new node are removed. Null: the move has
 * ended.
 */
export type NodeMoveStep = 'copying' | 'switching' | 'cleaning' | 'undoing' | 'cancelling' | null;

/** The latest move of a store to another node. */
export interface NodeMove {
  readonly from: string;
  readonly to: string;
  readonly status: 'running' | 'done' | 'failed';
  readonly step: NodeMoveStep;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Why it failed. */
  readonly problem: string | null;
}

/** Where a store is. */
export interface StorePlacement {
  /** `host:port`, or `coordinator`. */
  readonly node: string;
  readonly move: NodeMove | null;
}

/**
 * The name that a server holds while it has a store open on a node, see `ServerGroup`. @param node its id in the
 * cluster; 0: the coordinator.
 */
export const holdName = (store: string, node: number): string => `${store} on ${node}`;

/** A move that has begun. */
export interface BegunMove {
  readonly store: string;
  /** A UUID. */
  readonly id: string;
  readonly from: NodeAddress;
  readonly to: NodeAddress;
}

/** A node by its id in the cluster. Plain values, which can be sent to another process. */
export interface NodeAddress {
  /** 0: the coordinator. */
  readonly id: number;
  readonly name: string;
}

/** Whether stores are on the nodes of a cluster, and whether they are still where they were opened. */
export interface StoreNodes {
  isCluster(): Promise<boolean>;
  /** Which of the opened stores are no longer where they were opened, or have a move that is just changing the node. */
  findMoved(opened: ReadonlyMap<string, Database>): Promise<ReadonlySet<string>>;
  /** The work with nodes. It is loaded when it is first needed. */
  load(): Promise<ClusterStores>;
}

/** The stores on the nodes of a cluster. */
export interface ClusterStores {
  usage(): Promise<NodeUsage[]>;
  placements(): Promise<StorePlacements>;
  /** @throws ApiError if no store can be placed on the node. */
  requireTarget(node: string): Promise<void>;
  /** Places a store that does not exist yet on a node. */
  place(store: string, node: string): Promise<void>;
  /**
   * Begins to move a store. Another process copies it then.
   *
   * @throws ApiError for an unknown node, the same one, one that does not reply or does not replicate, or if a move has not ended.
   */
  beginMove(store: string, node: string): Promise<BegunMove>;
  /**
   * Moves a store that was copied: waits for the rest, locks it, and puts the copy in its place.
   *
   * @throws Error if the move fails; it must be settled then.
   */
  finishMove(move: BegunMove, signal: AbortSignal): Promise<void>;
  /** Whether a move has not ended, on any server. */
  hasUnsettled(): Promise<boolean>;
  /**
   * Undoes moves that have failed, and removes what complete ones have left. It can be repeated. Nobody may be running them.
   *
   * @param problem why they failed. @throws the first error, such as that of a node that does not reply.
   */
  settle(problem: string): Promise<void>;
}

/** Where stores are. */
export interface StorePlacements {
  find(store: string): StorePlacement;
}

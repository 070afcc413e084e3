/** The definitions and permissions of an application at one version, with everything that is derived from them. */
import type { AccessTable } from '../access/access-table.ts';
import { buildGrants } from '../access/grants.ts';
import { makeAccessTable } from '../access/load-access.ts';
import { readDefinitions, readVersions, type Versions } from '../database/catalogue.ts';
import type { Database } from '../database/database.ts';
import { readPermissions } from '../database/permission-rows.ts';
import { readRoles } from '../database/role-rows.ts';
import type { GrantLookup } from '../query/grant.ts';
import { createPlanCache, type PlanCache } from '../records/plan-cache.ts';
import { type GrantsKey, roleGrantsKey } from '../records/with-grants.ts';
import { buildNextRegistry } from '../schema/load-registry.ts';
import { Registry } from '../schema/registry.ts';
import type { SystemTraits } from '../schema/system-traits.ts';

/** The grants of a role, and their part of the keys of cached plans. */
export interface RoleGrants {
  readonly findGrant: GrantLookup;
  readonly key: GrantsKey;
}

/** Immutable except for its caches. A change of definitions or permissions makes a new one. */
export class Snapshot {
  readonly versions: Versions;
  readonly registry: Registry;
  readonly access: AccessTable;
  readonly cache: PlanCache = createPlanCache();
  readonly #grants = new Map<string, RoleGrants>();

  constructor(versions: Versions, registry: Registry, access: AccessTable) {
    this.versions = versions;
    this.registry = registry;
    this.access = access;
  }

  /**
   * The snapshot of an application that has not been opened: without collections and roles.
   *
   * @param systemTraits of its system collections.
   */
  static empty(systemTraits: ReadonlyMap<string, SystemTraits>): Snapshot {
    return new Snapshot({ version: 0, schema: -1 }, new Registry(0, new Map(), systemTraits), { roles: new Map() });
  }

  findRoleGrants(role: string): RoleGrants {
    let roleGrants = this.#grants.get(role);
    if (!roleGrants) {
      roleGrants = { findGrant: buildGrants(role, this.access, this.registry), key: roleGrantsKey(role) };
      this.#grants.set(role, roleGrants);
    }
    return roleGrants;
  }
}

/**
 * Reads the current snapshot. The versions are read first, so that the next guarded statement detects what changes
 * during the reads.
 */
export async function loadSnapshot(database: Database, previous: Snapshot): Promise<Snapshot> {
  const versions = await readVersions(database);
  let { registry } = previous;
  if (versions.schema !== previous.versions.schema) {
    const definitions = await readDefinitions(database, previous.versions.schema);
    registry = buildNextRegistry(registry, versions.schema, definitions);
  }
  // During the bootstrap of an application its roles and permissions do not exist yet.
  const hasSystemCollections = registry.find('permissions') !== null;
  const access = makeAccessTable(
    hasSystemCollections ? await readRoles(database) : [],
    hasSystemCollections ? await readPermissions(database) : [],
  );
  return new Snapshot(versions, registry, access);
}

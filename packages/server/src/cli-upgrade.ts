/** `tablinum start --dry-run`: says what a start would change in the stores of all applications. Changes nothing. */
import { existsSync } from 'node:fs';
import { mainApplicationName } from './applications/application.ts';
import { listWanted, requireFreeNames } from './applications/bootstrap.ts';
import { systemRelations } from './applications/system-definitions.ts';
import { systemClock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import { makeLogger } from './base/logger.ts';
import { ServerHealth } from './base/server-health.ts';
import { readStoresByName } from './database/application-rows.ts';
import { hasCatalogue, readDefinedNames, readUserCollections } from './database/catalogue.ts';
import type { Database } from './database/database.ts';
import { mainStoreName, openStores } from './open-stores.ts';
import { ApiError } from './protocol/api-error.ts';
import { migrations } from './upgrades/migrations.ts';
import { planUpgrade } from './upgrades/upgrade-store.ts';

const noData = 'There is no data yet: a start creates it.';

/** Prints the plan. @throws StartFailure like a start, for example if a newer version has written a store. */
export async function printUpgradePlan(config: Config): Promise<void> {
  if (config.databaseUrl === null && !existsSync(config.dataDir)) return console.log(noData);
  const logger = makeLogger(config.logLevel);
  const health = new ServerHealth(logger, systemClock);
  const opened = await openStores({ config, clock: systemClock, logger, health, syncFile: undefined });
  try {
    const main = await openExisting(opened.stores.open, mainStoreName);
    if (main === null) return console.log(noData);
    try {
      await printPlan(main, mainApplicationName);
      for (const [name, store] of await readStoresByName(main)) {
        if (store === mainStoreName) continue;
        const database = await openExisting(opened.stores.open, store);
        if (database === null) console.log(`${name}: its store is missing or empty.`);
        else await printPlan(database, name).finally(() => database.close());
      }
    } finally {
      await main.close();
    }
  } catch (error) {
    throw error instanceof ApiError ? error : opened.toOperatorError(error);
  } finally {
    await opened.release();
  }
}

/** @returns null if the store does not exist or is empty. */
async function openExisting(
  open: (store: string, mayCreate: boolean) => Promise<Database>,
  store: string,
): Promise<Database | null> {
  const database = await open(store, false).catch((error: Error) => {
    if (/missing|does not exist/i.test(error.message)) return null;
    throw error;
  });
  if (database === null || (await hasCatalogue(database))) return database;
  await database.close();
  return null;
}

async function printPlan(database: Database, name: string): Promise<void> {
  const plan = await planUpgrade(database, name, migrations);
  requireFreeNames(name, await readUserCollections(database));
  const defined = await readDefinedNames(database);
  const wanted = listWanted(name);
  const relations = systemRelations.filter(({ collection }) => wanted.some((each) => each.name === collection));
  const fields = [
    ...wanted.flatMap((each) => each.fields.map((field) => ({ collection: each.name, name: field.name }))),
    ...relations.map(({ collection, field }) => ({ collection, name: field.name })),
  ].filter(({ collection, name: field }) => defined.has(collection) && !defined.has(`${collection}.${field}`));
  const lines = [
    ...plan.migrations.map(({ number, title }) => `migration ${number}: ${title}`),
    ...plan.tables.map((table) => `table ${table} is added`),
    ...wanted.filter((each) => !defined.has(each.name)).map((each) => `collection ${each.name} is added`),
    ...fields.map((each) => `field ${each.collection}.${each.name} is added`),
  ];
  const version = `store version ${plan.from}`;
  if (lines.length === 0) console.log(`${name}: ${version}. Nothing changes.`);
  else console.log([`${name}: ${version}, upgraded to ${plan.to}:`, ...lines.map((each) => `  ${each}`)].join('\n'));
}

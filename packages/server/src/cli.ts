#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { loadEnvFile } from 'node:process';
import { ConfigError, readConfig } from './base/config.ts';

enableCompileCache();

const [command = 'start'] = process.argv.slice(2);
if (command === 'start') await start();
else if (command === 'mail') await mail();
else fail(`There is no command "${command}". Use: tablinum start, or tablinum mail`);

async function start(): Promise<void> {
  const envFile = existsSync('.env');
  if (envFile) loadEnvFile('.env');
  const config = configured();
  const { startServer } = await import('./server.ts');
  const server = await startServer({ config }).catch((error: Error) =>
    fail(`The server could not start: ${error.message}`),
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(server));
  const engine = server.engine === 'sqlite' ? `SQLite in ${config.dataDir}` : 'PostgreSQL at DATABASE_URL';
  console.log(`Tablinum listens on ${server.url}, engine ${engine}${envFile ? ', settings from .env' : ''}.`);
  if (config.appKeyIsRandom) {
    console.log(
      'APP_KEY is not set: API keys and logins made now die at the next restart. Set a long random text to keep them.',
    );
  } else if (config.appKey.length < 32) console.log('APP_KEY is shorter than 32 characters; a longer one is safer.');
  if (server.setupToken) sayHowToBegin(config.publicUrl ?? server.url, server.setupToken);
}

async function mail(): Promise<void> {
  const { runMailCommand } = await import('./cli-mail.ts');
  process.exitCode = await runMailCommand(process.argv.slice(3)).catch((error: Error) => fail(error.message));
}

/** The one place where a secret is printed: whoever reads it is at the machine. */
function sayHowToBegin(url: string, token: string): void {
  console.log(`There is no user yet. This link makes the first admin, once, within a day:
  ${url}/setup#token=${token}
or: curl ${url}/api/auth:setup -H 'content-type: application/json' -d '{"token":"${token}","email":"…","password":"…"}'
or set INIT_ROOT_EMAIL and INIT_ROOT_PASSWORD and start again.`);
}

async function stop(server: { stop(): Promise<void> }): Promise<void> {
  const patience = setTimeout(() => process.exit(1), 15_000);
  patience.unref();
  await server.stop();
  process.exit(0);
}

function configured(): ReturnType<typeof readConfig> {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (error instanceof ConfigError) fail(error.message);
    throw error;
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

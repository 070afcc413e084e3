/** Runs the commands that have a module of their own, and prints help. */
import type { Config } from './base/config.ts';
import { commandExitCodes, commands } from './cli-commands.ts';

/** Prints help or runs a command that this module loads. @param own names of variables that were set before `.env` was loaded. @returns the exit code; null: unknown. */
export async function runCommand(
  name: string,
  args: readonly string[],
  loadConfig: () => Config,
  own: readonly string[] = [],
): Promise<number | null> {
  if (name === 'help' || name === '--help' || name === '-h') return printHelp(args[0]);
  const found = commands.find((each) => each.name === name);
  if (!found) return null;
  if (args.includes('--help') || args.includes('-h')) return printHelp(name);
  if (name === 'completion') return (await import('./cli-completion.ts')).runCompletion(args);
  if (name === 'config') return (await import('./cli-config.ts')).runConfigCommand(args, own);
  if (name === 'doctor') return (await import('./cli-doctor.ts')).runDoctorCommand(args);
  if (name === 'move') {
    await (await import('./cli-move.ts')).runMoveCommand(args, loadConfig());
    return commandExitCodes.done;
  }
  if (name === 'schema') return (await import('./cli-schema.ts')).runSchemaCommand(args, loadConfig());
  const administers = name === 'user' || name === 'key' || name === 'app' || name === 'jobs';
  return administers ? (await import('./cli-admin.ts')).runAdminCommand(name, args, loadConfig()) : null;
}

function printHelp(name: string | undefined): number {
  const found = commands.find((each) => each.name === name);
  if (name !== undefined && !found) {
    console.error(`There is no command "${name}". Use "tablinum help".`);
    return commandExitCodes.usage;
  }
  if (found) console.log(`${found.summary}\n\n${found.usage}`);
  else {
    const width = Math.max(...commands.map((each) => each.name.length));
    console.log('Usage: tablinum <command> [arguments]\n');
    for (const each of commands) console.log(`  ${each.name.padEnd(width)}  ${each.summary}`);
    console.log(
      '\nSettings are environment variables or in .env: see "tablinum config". Exit codes: 0 done, 1 failed, 2 wrong usage.',
    );
  }
  return commandExitCodes.done;
}

/** LibreOffice, which writes and reads spreadsheets in tests. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const paths = [process.env['SOFFICE'], '/usr/bin/soffice', '/usr/lib/libreoffice/program/soffice'];

/**
 * The path of the program, or null if it is not installed. This is no error in CI, because its installation would take
 * a minute.
 */
export function findLibreOffice(): string | null {
  const found = paths.find((path) => path && existsSync(path)) ?? null;
  if (found) return found;
  process.stdout.write(
    'LibreOffice is not installed: a stored workbook of it is read instead. Install libreoffice-calc-nogui.\n',
  );
  return null;
}

/**
 * Converts a spreadsheet.
 *
 * @param from the extension of its format.
 *
 * @param to the extension of the other one, with a filter if needed: `csv:…`.
 */
export function convertSheet(program: string, content: string | Buffer, from: string, to: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'libreoffice-'));
  try {
    writeFileSync(join(folder, `sheet.${from}`), content);
    const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`;
    const options = ['--headless', '--norestore', '--convert-to', to, '--outdir', join(folder, 'out')];
    const { status, stderr } = spawnSync(program, [profile, ...options, join(folder, `sheet.${from}`)], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    const file = join(folder, 'out', `sheet.${to.split(':')[0]}`);
    if (status !== 0 || !existsSync(file)) throw new Error(`LibreOffice has written no file: ${stderr}`);
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

import { buildFolder } from '../../../../scripts/build-folder.ts';
import { bundleServer, serverBuild } from '../../build.ts';
import { serverProgram } from './server-program.ts';

/** Bundles the server of tests and benchmarks that run it in a process of its own, if a source is newer. */
export async function buildTestServer(): Promise<void> {
  const { folder, source } = serverProgram;
  await buildFolder(
    {
      ...serverBuild,
      title: 'The server of tests',
      output: folder,
      sources: [...serverBuild.sources, source],
      write: (output) => bundleServer(output, { 'server-process-main': source }),
    },
    true,
  );
}

import { dirname } from 'node:path';
import { runProgram } from '../../test/system/harness/process/server-process.ts';

/** Runs `svc backup` of a database into a file. Throws with its output on failure. */
export async function backUp(url: string, file: string): Promise<void> {
  const folder = dirname(file);
  const args = ['--to', file, `--svc.database.url=${url}`, `--svc.data.dir=${folder}`];
  await runProgram({ command: 'backup', args, folder });
}

import { dirname } from 'node:path';
import { runProgram } from '../../test/system/harness/server-process.ts';

/** `svc backup` of a database into a file. Throws with what it says where it fails. */
export async function backUp(url: string, file: string): Promise<void> {
  const folder = dirname(file);
  const args = ['--to', file, `--svc.database.url=${url}`, `--svc.data.dir=${folder}`];
  await runProgram({ command: 'backup', args, folder });
}

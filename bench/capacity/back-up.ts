import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../dist/cmd/svc/main.js', import.meta.url));

/** `svc backup` of a database into a file. Throws with what it says where it fails. */
export async function backUp(url: string, file: string): Promise<void> {
  const child = spawn(
    process.execPath,
    [program, 'backup', '--to', file, `--svc.database.url=${url}`, `--svc.data.dir=${dirname(file)}`],
    { cwd: dirname(file), env: {}, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`svc backup: ${said}`);
}

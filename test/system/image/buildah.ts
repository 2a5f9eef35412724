import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A separate image store in a folder, with options that also work inside a container: copied files instead of overlays,
 * chroot instead of namespaces. Needs root.
 */
export class Buildah {
  readonly #folder: string;
  readonly #settings: readonly string[];

  /** `folder` belongs to the test. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#settings = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
  }

  /** Returns the trimmed output. Throws an Error with the end of the error output. */
  async call(command: string, ...args: readonly string[]): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    return output('buildah', [...this.#settings, command, ...args]);
  }

  /** Creates a container of the image, or an empty one; its files are in `root`. */
  async container(image: string): Promise<{ name: string; root: string }> {
    const name = await this.call('from', '--pull-never', image);
    return { name, root: await this.call('mount', name) };
  }

  async commit(container: string, image: string): Promise<void> {
    await this.call('umount', container);
    await this.call('commit', '--rm', '--quiet', container, image);
  }

  /** The compressed sizes of the image's layers in bytes, as in a registry, the lowest first. */
  async layerSizes(image: string): Promise<number[]> {
    const layout = join(this.#folder, 'layout');
    await this.call('push', '--quiet', image, `oci:${layout}:checked`);
    const index = (await readJson(join(layout, 'index.json'))) as { manifests: { digest: string }[] };
    const manifest = (await readJson(join(layout, 'blobs', ...index.manifests[0]!.digest.split(':')))) as {
      layers: { size: number }[];
    };
    return manifest.layers.map(({ size }) => size);
  }

  async close(): Promise<void> {
    await this.call('umount', '--all');
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'));
}

/** Runs a program to its end, and returns the trimmed output. Throws an Error with the end of the error output. */
export async function output(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let all = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    all += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => (all += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${all.slice(-4000)}`);
  return stdout.trim();
}

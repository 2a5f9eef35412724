import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A store of images of our own in a folder, with everything that works in a container, too: files copied instead of
 * overlays, chroot instead of namespaces. As root.
 */
export class Buildah {
  readonly #folder: string;
  readonly #settings: readonly string[];

  /** `folder` is ours. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#settings = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
  }

  /** What it prints, trimmed. Throws an Error with the end of what it said. */
  async call(command: string, ...args: readonly string[]): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    return output('buildah', [...this.#settings, command, ...args]);
  }

  /** A new container of the image, or of nothing; its files are in `root`. */
  async container(image: string): Promise<{ name: string; root: string }> {
    const name = await this.call('from', '--pull-never', image);
    return { name, root: await this.call('mount', name) };
  }

  async commit(container: string, image: string): Promise<void> {
    await this.call('umount', container);
    await this.call('commit', '--rm', '--quiet', container, image);
  }

  /** The image as a registry holds it; sizes of its layers in bytes, compressed, the lowest first. */
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

/** Runs a program to its end: what it printed, trimmed. Throws an Error with the end of what it said. */
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

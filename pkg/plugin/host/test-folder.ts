import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A folder of plugins for tests; files are given by their paths in a plugin. */
export class TestFolder {
  readonly root: string;
  readonly dir: string;

  private constructor(root: string) {
    this.root = root;
    this.dir = join(root, 'plugins');
  }

  static async make(): Promise<TestFolder> {
    return new TestFolder(await mkdtemp(join(tmpdir(), 'svc-plugins-')));
  }

  /**
   * Atomic: a new folder appears complete, and in an existing one each changed file is replaced as a whole, so that the
   * host never reads a partial file.
   */
  async write(plugin: string, files: Record<string, string>): Promise<void> {
    const target = join(this.dir, plugin);
    const made = await mkdtemp(join(this.root, 'made-'));
    await mkdir(dirname(target), { recursive: true });
    const isNew = !existsSync(target);
    for (const [path, text] of Object.entries(files)) {
      if (!isNew && (await readFile(join(target, path), 'utf8').catch(() => undefined)) === text) continue;
      const file = join(made, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      if (isNew) continue;
      await mkdir(dirname(join(target, path)), { recursive: true });
      await rename(file, join(target, path));
    }
    if (isNew) await rename(made, target);
    else await rm(made, { recursive: true });
  }

  remove(plugin: string): Promise<void> {
    return rm(join(this.dir, plugin), { recursive: true });
  }

  empty(): Promise<void> {
    return rm(this.dir, { recursive: true, force: true });
  }

  clear(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }
}

export interface ManifestOptions {
  name: string;
  version?: string;
  enabled?: boolean;
  requires?: string;
  dependencies?: Record<string, string>;
  environment?: string[];
  limits?: object;
  permissions?: object[];
}

/** JSON is YAML. */
export function manifest({ name, version = '1.0.0', ...spec }: ManifestOptions): string {
  return JSON.stringify({
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name },
    spec: { version, ...spec },
  });
}

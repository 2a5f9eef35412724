import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { existsSync, renameSync } from 'node:fs';
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
   * A new folder appears complete. In an existing one the changed files are replaced at once, so that the host, which
   * waits until a folder has been left alone for its interval, never takes some of them for all.
   */
  async write(plugin: string, files: Record<string, string>): Promise<void> {
    const target = join(this.dir, plugin);
    const made = await mkdtemp(join(this.root, 'made-'));
    await mkdir(dirname(target), { recursive: true });
    const isNew = !existsSync(target);
    const changed: string[] = [];
    for (const [path, text] of Object.entries(files)) {
      if (!isNew && (await readFile(join(target, path), 'utf8').catch(() => undefined)) === text) continue;
      changed.push(path);
      for (const folder of isNew ? [made] : [made, target])
        await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(made, path), text);
    }
    if (isNew) return rename(made, target);
    // Not one by one with pauses: on a busy machine each could take longer than the interval.
    for (const path of changed) renameSync(join(made, path), join(target, path));
    await rm(made, { recursive: true });
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

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '#pkg/apimachinery/index';
import type { PluginLimits } from '#pkg/apis/index';
import { bundlePlugin, type PluginBundle } from '../bundle/bundle-plugin.ts';
import { PluginWorker, type PluginWorkerOptions } from './plugin-worker.ts';

export interface LogLine {
  level: string;
  message: string;
  details: Record<string, unknown>;
}

/** Bundles plugins from source text and runs their workers; `stop` ends all of them. */
export class TestPlugins {
  /** The log lines and output of all plugins. */
  readonly lines: LogLine[] = [];
  readonly #running: PluginWorker[] = [];
  readonly #client: Client;
  readonly #root: string;
  #count = 0;

  static async begin(client: Client): Promise<TestPlugins> {
    return new TestPlugins(client, await mkdtemp(join(tmpdir(), 'svc-worker-')));
  }

  private constructor(client: Client, root: string) {
    this.#client = client;
    this.#root = root;
  }

  /** `code` is the content of `index.ts`. */
  async bundle(code: string): Promise<PluginBundle> {
    this.#count += 1;
    const folder = join(this.#root, `p${this.#count}`);
    await mkdir(folder);
    await writeFile(join(folder, 'index.ts'), code);
    return bundlePlugin({ folder, main: 'index.ts', outDir: join(this.#root, 'out') });
  }

  async start(
    code: string | PluginBundle,
    options: Partial<Omit<PluginWorkerOptions, 'limits'>> & { limits?: PluginLimits } = {},
  ): Promise<PluginWorker> {
    const worker = await PluginWorker.start({
      name: 'test',
      bundle: typeof code === 'string' ? await this.bundle(code) : code,
      client: this.#client,
      log: this.#log,
      environment: {},
      ...options,
      limits: { memoryMiB: 64, startSeconds: 30, blockedSeconds: 10, ...options.limits },
    });
    this.#running.push(worker);
    return worker;
  }

  /** The messages so far that match. */
  logged(pattern: RegExp): LogLine[] {
    return this.lines.filter(({ message }) => pattern.test(message));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((worker) => worker.stop(5000)));
    await rm(this.#root, { recursive: true, force: true });
  }

  readonly #log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [
      level,
      (details: Record<string, unknown>, message: string) => this.lines.push({ level, details, message }),
    ]),
  ) as unknown as PluginWorkerOptions['log'];
}

import { fileURLToPath } from 'node:url';
import { builtinControllers } from '../../../pkg/controllers/index.ts';
import { Manager, type Log } from '../../../pkg/runtime/index.ts';
import {
  registerPluginModels,
  runControllersUnderFaults,
  startTestEnv,
  type TestEnv,
  type TestEnvOptions,
} from '../../../pkg/testenv/index.ts';
import blog from '../../../config/samples/plugins/blog/index.ts';
import { BlogScenario } from './blog-scenario.ts';

const folder = fileURLToPath(new URL('../../../config/samples/plugins/blog', import.meta.url));
const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** One server with the blog's models and the platform's own controllers, for many runs. */
export class SeededBlogs {
  readonly #env: TestEnv;
  readonly #platform: Manager;

  static async start(options: TestEnvOptions = {}): Promise<SeededBlogs> {
    const env = await startTestEnv(options);
    try {
      const client = env.servers[0]!.steadyClient;
      await registerPluginModels(client, blog, { folder });
      return new SeededBlogs(env);
    } catch (error) {
      await env.stop();
      throw error;
    }
  }

  private constructor(env: TestEnv) {
    this.#env = env;
    const client = env.servers[0]!.steadyClient;
    this.#platform = new Manager({ client, log: silent, controllers: builtinControllers({ client, log: silent }) });
    this.#platform.start();
  }

  /** @throws FaultyRunError */
  run(seed: number): Promise<void> {
    const { act, expect } = new BlogScenario();
    return runControllersUnderFaults({ client: this.#env.servers[0]!.steadyClient, plugin: blog, seed, act, expect });
  }

  async stop(): Promise<void> {
    await this.#platform.stop();
    await this.#env.stop();
  }
}

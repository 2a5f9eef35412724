import { Manager, type ControllerDefinition, type Log } from '#pkg/runtime/index';
import type { FaultyClient } from './faulty-client.ts';
import { WorkCount } from './work-count.ts';

export interface CrashingControllerRunnerOptions {
  /** The name under which resuming controllers store their positions. */
  name: string;
  client: FaultyClient;
  controllers: readonly ControllerDefinition[];
  log: Log;
  /** Called with a message after each restart. */
  onRestart: (what: string) => void;
}

/** Runs controllers like a process that may crash, and restarts them without any state in memory. */
export class CrashingControllerRunner {
  readonly #options: CrashingControllerRunnerOptions;
  readonly #running: Promise<void>;
  #work = new WorkCount();
  #isStopped = false;
  #stop!: () => void;

  constructor(options: CrashingControllerRunnerOptions) {
    this.#options = options;
    const stopping = new Promise<void>((resolve) => {
      this.#stop = resolve;
    });
    this.#running = this.#run(stopping);
  }

  /** The work since the last restart; each restart has a new object. */
  get work(): WorkCount {
    return this.#work;
  }

  /** Idempotent; never rejects. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#stop();
    return this.#running;
  }

  async #run(stopping: Promise<void>): Promise<void> {
    const { name, controllers, log, onRestart } = this.#options;
    for (let client = this.#options.client; !this.#isStopped; client = client.restarted()) {
      const work = new WorkCount();
      this.#work = work;
      const manager = new Manager({
        name,
        client,
        log,
        controllers,
        observerFor: () => work.observer,
        stopTimeoutMs: 5000,
      });
      manager.start();
      await Promise.race([client.crashed, stopping]);
      // After a crash the client lets no call through to the API.
      await manager.stop();
      if (!this.#isStopped) onRestart('the controllers crashed, and are started again');
    }
  }
}

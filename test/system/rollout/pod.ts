import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { ServerProcess, type ExitStatus } from '../harness/process/server-process.ts';
import type { ContainerSpec, PodTemplate } from './manifests.ts';
import { prepareContainer, type ContainerView, type PodPlace } from './pod-files.ts';
import { probe, probeUrl } from './probing.ts';

/** Kubernetes' back-off: no delay at first, then ten seconds, then doubled each time. */
const firstBackOffMs = 10_000;
const longestBackOffMs = 300_000;
const readyTimeoutMs = 150_000;

export interface PodOptions extends PodPlace {
  template: PodTemplate;
  /** Its `dist/cmd/svc/main.js` is the image's program. */
  build: string;
  /** Called when its readiness changes. */
  onReady: (pod: Pod, isReady: boolean) => void;
}

/** The end of a container, with its time. */
export interface ContainerEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Since SIGTERM, if it was sent. Milliseconds. */
  tookMs?: number;
}

/**
 * One pod with one container, as a process of this machine, with the probes, restarts and termination of Kubernetes.
 */
export class Pod {
  readonly name: string;
  readonly ip: string;
  readonly build: string;
  readonly container: ContainerSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Unrequested ends, in order. */
  readonly ends: ContainerEnd[] = [];
  readonly #options: PodOptions;
  readonly #view: ContainerView;
  #server: ServerProcess | undefined;
  #probes = new AbortController();
  #isReady = false;
  #isEnding = false;
  #backOffMs = 0;
  #restart: NodeJS.Timeout | undefined;

  constructor(options: PodOptions) {
    const {
      template: { metadata, spec },
      name,
      ip,
      build,
      folder,
    } = options;
    const [container] = spec.containers;
    if (container === undefined || spec.containers.length > 1 || (spec.initContainers ?? []).length > 0)
      throw new Error(`${name} has more than one container: render the chart without plugins and extras`);
    this.name = name;
    this.ip = ip;
    this.build = build;
    this.container = container;
    this.labels = metadata.labels ?? {};
    this.#options = options;
    this.logFile = join(folder, 'pod.log');
    mkdirSync(folder, { recursive: true });
    this.#view = prepareContainer(container, spec, options);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get pid(): number | undefined {
    return this.#server?.pid;
  }

  get env(): Readonly<Record<string, string>> {
    return this.#view.env;
  }

  start(): void {
    const [command = '', ...args] = this.#view.args;
    const server = new ServerProcess({
      build: this.build,
      command,
      args,
      folder: this.#options.folder,
      name: 'pod',
      nodeArgs: ['--enable-source-maps'],
      env: { ...this.#view.env, HOSTNAME: this.name },
      stopTimeoutMs: (this.#options.template.spec.terminationGracePeriodSeconds ?? 30) * 1000,
    });
    this.#server = server;
    this.#probes = new AbortController();
    void this.#probe(server, this.#probes.signal);
    void server.exited.then((status) => this.#ended(server, endOf(status)));
  }

  /** Resolves when it is ready. */
  async ready(timeoutMs = readyTimeoutMs): Promise<void> {
    await retryUntilTrue(() => this.#isReady, { what: `${this.name} is ready; its log is ${this.logFile}`, timeoutMs });
  }

  /** Kills the process (SIGKILL), which then restarts with the back-off. False if none runs. */
  kill(): boolean {
    return this.#server?.signal('SIGKILL') === true;
  }

  /** Deletes the pod: SIGTERM, and SIGKILL after its grace period. Resolves with its end. */
  async end(): Promise<ContainerEnd> {
    this.#isEnding = true;
    clearTimeout(this.#restart);
    this.#setReady(false);
    if (this.#server === undefined) return { code: 0, signal: null };
    const began = performance.now();
    const status = await this.#server.stop();
    return { ...endOf(status), tookMs: Math.round(performance.now() - began) };
  }

  /** Kills it immediately, at the end of a run. */
  async destroy(): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#restart);
    this.#probes.abort();
    await this.#server?.stop('SIGKILL');
  }

  #ended(server: ServerProcess, end: ContainerEnd): void {
    if (this.#server !== server) return;
    this.#server = undefined;
    this.#probes.abort();
    this.#setReady(false);
    if (this.#isEnding) return;
    this.ends.push(end);
    this.#restart = setTimeout(() => this.start(), this.#backOffMs);
    this.#backOffMs = Math.min(longestBackOffMs, this.#backOffMs === 0 ? firstBackOffMs : this.#backOffMs * 2);
  }

  async #probe(server: ServerProcess, signal: AbortSignal): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = this.container;
    if (startupProbe !== undefined) {
      const started = new AbortController();
      const url = probeUrl(startupProbe, this.container, this.ip);
      let hasStarted = false;
      await probe(startupProbe, {
        url,
        signal: AbortSignal.any([signal, started.signal]),
        tell: (isPassing) => {
          hasStarted = isPassing;
          started.abort();
        },
      });
      if (signal.aborted) return;
      if (!hasStarted) return void (await server.stop());
    }
    const watch = (spec: typeof readinessProbe, tell: (isPassing: boolean) => void): Promise<void> | undefined =>
      spec === undefined ? undefined : probe(spec, { url: probeUrl(spec, this.container, this.ip), signal, tell });
    await Promise.all([
      watch(readinessProbe, (isPassing) => this.#setReady(isPassing && !this.#isEnding)),
      watch(livenessProbe, (isPassing) => void (isPassing || server.stop())),
    ]);
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.#options.onReady(this, isReady);
  }
}

function endOf(status: ExitStatus): ContainerEnd {
  return typeof status === 'number' ? { code: status, signal: null } : { code: null, signal: status };
}

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { pollUntil } from '../harness/poll-until.ts';
import type { ContainerSpec, PodTemplate } from './manifests.ts';
import { prepareContainer, type ContainerView, type PodPlace } from './pod-files.ts';
import { probe, probeUrl } from './probing.ts';

/** As Kubernetes waits between restarts: none at first, then ten seconds, then twice as long each time. */
const firstBackOffMs = 10_000;
const longestBackOffMs = 300_000;
const readyTimeoutMs = 150_000;

export interface PodOptions extends PodPlace {
  template: PodTemplate;
  /** `dist/cmd/svc/main.js` in it is the program of its image. */
  build: string;
  /** Hears whether it may be sent requests. */
  onReady: (pod: Pod, isReady: boolean) => void;
}

/** How a container ended, and when. */
export interface ContainerEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** From SIGTERM, where it was asked to. Milliseconds. */
  tookMs?: number;
}

/**
 * One pod with one container, as a process of this machine: its probes, its restarts and its end are those that
 * Kubernetes would give it.
 */
export class Pod {
  readonly name: string;
  readonly ip: string;
  readonly build: string;
  readonly container: ContainerSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Ends that nobody asked for, in their order. */
  readonly ends: ContainerEnd[] = [];
  readonly #options: PodOptions;
  readonly #view: ContainerView;
  #child: ChildProcess | undefined;
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
    this.logFile = join(folder, 'log');
    mkdirSync(folder, { recursive: true });
    this.#view = prepareContainer(container, spec, options);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get env(): Readonly<Record<string, string>> {
    return this.#view.env;
  }

  start(): void {
    const log = openSync(this.logFile, 'a');
    const program = join(this.build, 'dist/cmd/svc/main.js');
    // No variable of the shell may change what is tried.
    const child = spawn(process.execPath, ['--enable-source-maps', program, ...this.#view.args], {
      cwd: this.#options.folder,
      env: { ...this.#view.env, HOSTNAME: this.name },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    this.#probes = new AbortController();
    void this.#probe(child, this.#probes.signal);
    child.once('exit', (code, signal) => this.#ended(child, { code, signal }));
  }

  /** Resolves when it is ready. */
  async ready(timeoutMs = readyTimeoutMs): Promise<void> {
    await pollUntil(() => this.#isReady, { what: `${this.name} is ready; its log is ${this.logFile}`, timeoutMs });
  }

  /** The process is killed (SIGKILL), and started again by the rules. False where there was none. */
  kill(): boolean {
    return this.#child?.kill('SIGKILL') === true;
  }

  /** The pod is deleted: SIGTERM, and SIGKILL after its grace period. Resolves with how it ended. */
  async end(): Promise<ContainerEnd> {
    this.#isEnding = true;
    clearTimeout(this.#restart);
    this.#setReady(false);
    const child = this.#child;
    if (child === undefined) return { code: 0, signal: null };
    const began = performance.now();
    const [code, signal] = await this.#terminate(child);
    return { code, signal, tookMs: Math.round(performance.now() - began) };
  }

  /** At once, without a word: the end of a run. */
  async destroy(): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#restart);
    this.#probes.abort();
    const child = this.#child;
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async #terminate(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    child.kill('SIGTERM');
    const late = setTimeout(
      () => child.kill('SIGKILL'),
      (this.#options.template.spec.terminationGracePeriodSeconds ?? 30) * 1000,
    );
    const ended = await exited;
    clearTimeout(late);
    return ended;
  }

  #ended(child: ChildProcess, end: ContainerEnd): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#probes.abort();
    this.#setReady(false);
    if (this.#isEnding) return;
    this.ends.push(end);
    this.#restart = setTimeout(() => this.start(), this.#backOffMs);
    this.#backOffMs = Math.min(longestBackOffMs, this.#backOffMs === 0 ? firstBackOffMs : this.#backOffMs * 2);
  }

  async #probe(child: ChildProcess, signal: AbortSignal): Promise<void> {
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
      if (!hasStarted) return void (await this.#terminate(child));
    }
    const watch = (spec: typeof readinessProbe, tell: (isPassing: boolean) => void): Promise<void> | undefined =>
      spec === undefined ? undefined : probe(spec, { url: probeUrl(spec, this.container, this.ip), signal, tell });
    await Promise.all([
      watch(readinessProbe, (isPassing) => this.#setReady(isPassing && !this.#isEnding)),
      watch(livenessProbe, (isPassing) => void (isPassing || this.#terminate(child))),
    ]);
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.#options.onReady(this, isReady);
  }
}

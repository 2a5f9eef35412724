import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoopbackAddresses } from '../harness/process/loopback.ts';
import type { Manifests } from './manifests.ts';
import { Pod, type ContainerEnd } from './pod.ts';

/** A build with its rendered chart. */
export interface Release {
  /** Its `dist/cmd/svc/main.js` is the program. */
  build: string;
  manifests: Manifests;
}

export interface DeploymentOptions {
  name: string;
  release: Release;
  folder: string;
  loopback: LoopbackAddresses;
  services: ReadonlyMap<string, string>;
  onReady: (pod: Pod, isReady: boolean) => void;
}

/** Runs the chart's rolling update strategy: one more pod than wanted, none less. */
export class Deployment {
  readonly name: string;
  readonly #options: DeploymentOptions;
  readonly #pods: Pod[] = [];
  readonly #gone: Pod[] = [];
  #release: Release;
  #made = 0;
  #isOver = false;

  constructor(options: DeploymentOptions) {
    this.name = options.name;
    this.#options = options;
    this.#release = options.release;
  }

  /** The current pods. */
  get pods(): readonly Pod[] {
    return this.#pods;
  }

  /** Current and replaced pods. */
  get allPods(): readonly Pod[] {
    return [...this.#gone, ...this.#pods];
  }

  /** Resolves when this many pods are ready, and no others are left. */
  async scale(count: number): Promise<ContainerEnd[]> {
    while (this.#pods.length < count) this.#add();
    const ends = await Promise.all(this.#pods.slice(count).map((pod) => this.#remove(pod)));
    await this.ready();
    return ends;
  }

  /** Starts the pods without waiting for them. */
  begin(count: number): void {
    while (this.#pods.length < count) this.#add();
  }

  async ready(): Promise<void> {
    await Promise.all(this.#pods.map((pod) => pod.ready()));
  }

  /** A rolling update to another release. Resolves with the ends of the old pods. */
  async rollTo(release: Release): Promise<ContainerEnd[]> {
    this.#release = release;
    const ends: Promise<ContainerEnd>[] = [];
    for (const old of this.#pods.slice()) {
      await this.#add().ready();
      ends.push(this.#remove(old));
      // The next pod starts as soon as this one no longer counts, which is at once; a real controller takes some time.
      await delay(200);
    }
    return Promise.all(ends);
  }

  /** Immediate; running operations start no further pods. */
  async destroy(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.allPods.map((pod) => pod.destroy()));
  }

  #add(): Pod {
    if (this.#isOver) throw new Error(`${this.name} has been stopped`);
    const { folder, loopback, services, onReady } = this.#options;
    const { build, manifests } = this.#release;
    const manifest = manifests.deployment(this.name);
    this.#made += 1;
    const name = `${this.name}-${this.#made}`;
    const pod = new Pod({
      template: manifest.spec.template,
      manifests,
      name,
      folder: join(folder, name),
      ip: loopback.take(),
      build,
      services,
      onReady,
    });
    this.#pods.push(pod);
    pod.start();
    return pod;
  }

  async #remove(pod: Pod): Promise<ContainerEnd> {
    this.#pods.splice(this.#pods.indexOf(pod), 1);
    this.#gone.push(pod);
    const end = await pod.end();
    rmSync(join(this.#options.folder, pod.name, 'volumes'), { recursive: true, force: true });
    return end;
  }
}

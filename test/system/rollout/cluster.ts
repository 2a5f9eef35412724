import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../harness/process/free-port.ts';
import { Balancer, type Frontend } from './balancer.ts';
import { Deployment, type Release } from './deployment.ts';
import { LoopbackAddresses } from '../harness/process/loopback.ts';
import type { Service } from './manifests.ts';
import { servicePort } from './pod-files.ts';
import type { Pod } from './pod.ts';
import { PostgresPair } from './postgres-pair.ts';
import { postgresPort } from './postgres-node.ts';
import { portOf } from './probing.ts';

/** Delay until the load balancer knows a pod's readiness: longer than usual in a cluster. Milliseconds. */
const endpointLagMs = 1000;
const databaseFrontend = 'postgres-rw';

export interface ClusterOptions {
  folder: string;
  /** Renders the release for a database. */
  release: (databaseUrl: string) => Promise<Release>;
  /** By Deployment; default: the chart's number. */
  replicas?: Readonly<Record<string, number>>;
}

/** A release on this machine: PostgreSQL with a standby, haproxy instead of Services, and the chart's Deployments. */
export class Cluster {
  readonly folder: string;
  readonly pair: PostgresPair;
  readonly balancer: Balancer;
  readonly databaseUrl: string;
  readonly #deployments: readonly Deployment[];
  readonly #services: readonly Service[];
  /** The clients' port of each service, on 127.0.0.1. */
  readonly #clientPorts: ReadonlyMap<string, number>;
  #isStopping = false;

  /** Resolves when every pod is ready. */
  static async start({ folder, release: render, replicas = {} }: ClusterOptions): Promise<Cluster> {
    await mkdir(folder, { recursive: true });
    const loopback = new LoopbackAddresses();
    const databaseHost = loopback.take();
    const databaseUrl = PostgresPair.url(databaseHost);
    const release = await render(databaseUrl);
    const { services } = release.manifests;
    const hosts = new Map(services.map(({ name }) => [name, loopback.take()]));
    const clientPorts = new Map<string, number>();
    for (const { name } of services) clientPorts.set(name, await freePort());
    const frontends = services.flatMap(({ name, ports }) =>
      ports.map(({ port }, i): Frontend => ({
        name: frontendOf(name, port),
        mode: 'http',
        binds: [
          `${hosts.get(name) ?? ''}:${servicePort(port)}`,
          ...(i === 0 ? [`127.0.0.1:${clientPorts.get(name) ?? 0}`] : []),
        ],
      })),
    );
    const balancer = await Balancer.start(folder, [
      ...frontends,
      { name: databaseFrontend, mode: 'tcp', binds: [`${databaseHost}:${postgresPort}`] },
    ]);
    let pair: PostgresPair | undefined;
    let cluster: Cluster | undefined;
    try {
      pair = await PostgresPair.start({
        folder,
        hosts: [loopback.take(), loopback.take()],
        direct: async (to) => {
          for (const { host } of pair?.nodes ?? [])
            if (host !== to.host) await balancer.remove(databaseFrontend, host, { isCut: true });
          await balancer.add(databaseFrontend, to.host, postgresPort);
        },
      });
      cluster = new Cluster({ folder, pair, balancer, databaseUrl, services, clientPorts }, (onReady) =>
        release.manifests.deployments.map(
          ({ metadata }) =>
            new Deployment({ name: metadata.name, release, folder, loopback, services: hosts, onReady }),
        ),
      );
      for (const deployment of cluster.#deployments)
        deployment.begin(replicas[deployment.name] ?? release.manifests.deployment(deployment.name).spec.replicas ?? 1);
      await Promise.all(cluster.#deployments.map((deployment) => deployment.ready()));
      return cluster;
    } catch (error) {
      await (cluster?.stop() ?? Promise.all([pair?.stop(), balancer.stop()]));
      throw error;
    }
  }

  private constructor(
    {
      folder,
      pair,
      balancer,
      databaseUrl,
      services,
      clientPorts,
    }: {
      folder: string;
      pair: PostgresPair;
      balancer: Balancer;
      databaseUrl: string;
      services: readonly Service[];
      clientPorts: ReadonlyMap<string, number>;
    },
    deploymentsOf: (onReady: (pod: Pod, isReady: boolean) => void) => Deployment[],
  ) {
    this.folder = folder;
    this.pair = pair;
    this.balancer = balancer;
    this.databaseUrl = databaseUrl;
    this.#services = services;
    this.#clientPorts = clientPorts;
    this.#deployments = deploymentsOf((pod, isReady) => void this.#publish(pod, isReady));
  }

  get deployments(): readonly Deployment[] {
    return this.#deployments;
  }

  get pods(): Pod[] {
    return this.#deployments.flatMap(({ pods }) => pods);
  }

  /** By the suffix of its name: `apiserver`, `access-server`, `controller-manager`. */
  deployment(component: string): Deployment {
    const found = this.#deployments.find(({ name }) => name.endsWith(component));
    if (found === undefined) throw new Error(`the chart has no Deployment for ${component}`);
    return found;
  }

  /** The clients' port of a component, on 127.0.0.1. */
  port(component: string): number {
    const service = this.#services.find(({ name }) => name.endsWith(component));
    const port = this.#clientPorts.get(service?.name ?? '');
    if (port === undefined) throw new Error(`the chart has no Service for ${component}`);
    return port;
  }

  /** An environment variable of the component's pods; throws if it is missing. */
  setting(component: string, name: string): string {
    const value = this.deployment(component).pods[0]?.env[name];
    if (value === undefined) throw new Error(`${component} has no ${name} in its environment`);
    return value;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#deployments.map((deployment) => deployment.destroy()));
    await this.balancer.stop();
    await this.pair.stop();
  }

  /** Adds a pod to the services that select it, or removes it, with a cluster's delay. */
  async #publish(pod: Pod, isReady: boolean): Promise<void> {
    await delay(endpointLagMs);
    if (this.#isStopping || pod.isReady !== isReady) return;
    for (const { name, selector, ports } of this.#services) {
      if (!Object.entries(selector).every(([label, value]) => pod.labels[label] === value)) continue;
      for (const { port, target } of ports) {
        if (isReady) await this.balancer.add(frontendOf(name, port), pod.ip, portOf(target, pod.container));
        else await this.balancer.remove(frontendOf(name, port), pod.ip);
      }
    }
  }
}

function frontendOf(service: string, port: number): string {
  return `${service}-${port}`;
}

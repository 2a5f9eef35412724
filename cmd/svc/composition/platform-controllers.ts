import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { builtinControllers } from '#pkg/controllers/index';
import type { HealthCheck } from '#pkg/http/index';
import type { PluginHost } from '#pkg/plugin/index';
import { Manager, type ControllerState } from '#pkg/runtime/index';
import type { ControllerMetrics } from '../metrics/controller-metrics.ts';

/** The lease of the leader: of all controller processes only its holder runs controllers. */
const leaseName = 'svc-controllers';

export interface PlatformControllersOptions {
  /** A client with all permissions, over any transport. It must work until `stop` has resolved. */
  client: Client;
  log: Logger;
  host: Pick<PluginHost, 'controller' | 'unhealthyPlugins'>;
  /** Unique identity of the candidate for the lease. Default: the host name and a random suffix. */
  identity?: string;
  metrics?: ControllerMetrics;
  /** How long `stop` waits for running reconciles. Milliseconds. */
  stopTimeoutMs: number;
}

export interface PlatformControllers {
  /** Health of the controllers, for operators. Requests are served without controllers, too. */
  readonly readyz: readonly HealthCheck[];
  start(): void;
  /** Releases the lease. Never rejects. */
  stop(): Promise<void>;
}

/** The platform's controllers. Once started they run while this process holds the lease. */
export function platformControllers({
  client,
  log,
  host,
  identity = `${hostname()}_${randomUUID()}`,
  metrics,
  stopTimeoutMs,
}: PlatformControllersOptions): PlatformControllers {
  const controllers = [...builtinControllers({ client, log }), host.controller];
  const manager = new Manager({
    client,
    log,
    controllers,
    election: { identity, namespace: systemNamespace, lease: leaseName },
    stopTimeoutMs,
    ...(metrics === undefined ? {} : { observerFor: metrics.observerFor }),
  });
  metrics?.registerLeading(leaseName, () => manager.isLeading);
  return {
    readyz: [
      ...controllerChecks(
        manager,
        controllers.map(({ name }) => name),
      ),
      pluginCheck(host),
    ],
    start: () => manager.start(),
    stop: () => manager.stop(),
  };
}

const stateWords: Partial<Record<ControllerState, string>> = { waiting: 'stands by', starting: 'starts' };

function controllerChecks(
  manager: Pick<Manager, 'controllers' | 'isLeading' | 'electionProblem' | 'failures'>,
  names: readonly string[],
): HealthCheck[] {
  const isInformative = true;
  return [
    {
      name: 'leader election',
      isInformative,
      check: async () => {
        if (manager.electionProblem !== undefined) throw manager.electionProblem;
        return manager.isLeading ? undefined : 'stands by';
      },
    },
    ...names.map((name) => ({
      name: `controller ${name}`,
      isInformative,
      check: async () => {
        const status = manager.controllers.find((each) => each.name === name);
        if (status?.problem !== undefined) throw status.problem;
        return status === undefined ? undefined : stateWords[status.state];
      },
    })),
    {
      name: 'reconciles',
      isInformative,
      check: async () => {
        const { last, objects } = manager.failures ?? {};
        if (last !== undefined)
          throw new Error(
            `${objects} objects fail; the last of controller ${last.controller}: ${last.request}, attempt ${last.attempt}`,
            { cause: last.error },
          );
      },
    },
  ];
}

/** Shows no names of plugins, since anyone may read it; the conditions of the plugins show which are affected. */
function pluginCheck(host: Pick<PluginHost, 'unhealthyPlugins'>): HealthCheck {
  return {
    name: 'plugin controllers',
    isInformative: true,
    check: async () => {
      const troubled = host.unhealthyPlugins();
      if (troubled.length > 0) throw new Error(`controllers of plugins are in trouble: ${troubled.join(', ')}`);
    },
  };
}

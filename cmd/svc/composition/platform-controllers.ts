import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { builtinControllers } from '#pkg/controllers/index';
import type { HealthCheck } from '#pkg/http/index';
import type { PluginHost } from '#pkg/plugin/index';
import { Manager, TaskLeases, type ControllerState } from '#pkg/runtime/index';
import type { ControllerMetrics } from '../metrics/controller-metrics.ts';

/** The lease that all processes with controllers hold together, and the beginning of the names of their other leases. */
const leaseGroup = 'svc-controllers';

export interface PlatformControllersOptions {
  /** A client with all permissions, over any transport. It must work until `stop` has resolved. */
  client: Client;
  log: Logger;
  host: Pick<PluginHost, 'controller' | 'unhealthyPlugins' | 'tasks' | 'onTasks'>;
  /** Unique identity of this host. Default: the host name and a random suffix. */
  identity?: string;
  /** See `TaskLeasesOptions`. */
  isGone?: (identity: string) => boolean;
  metrics?: ControllerMetrics;
  /** How long `stop` waits for running reconciles. Milliseconds. */
  stopTimeoutMs: number;
}

export interface PlatformControllers {
  /** Health of the controllers, for operators. Requests are served without controllers, too. */
  readonly readyz: readonly HealthCheck[];
  start(): void;
  /** Gives back its leases. Never rejects. */
  stop(): Promise<void>;
}

/** The platform's controllers and plugins. Once started, each runs while this process holds its lease. */
export function platformControllers({
  client,
  log,
  host,
  identity = `${hostname()}_${randomUUID()}`,
  isGone,
  metrics,
  stopTimeoutMs,
}: PlatformControllersOptions): PlatformControllers {
  const leases = new TaskLeases({
    client,
    log,
    identity,
    namespace: systemNamespace,
    group: leaseGroup,
    ...(isGone === undefined ? {} : { isGone }),
  });
  const controllers = builtinControllers({ client, log });
  const common = {
    client,
    log,
    owner: 'svc',
    stopTimeoutMs,
    ...(metrics === undefined ? {} : { observerFor: metrics.observerFor }),
  };
  const builtin = new Manager({ ...common, controllers, leases });
  const plugins = new Manager({ ...common, controllers: [host.controller] });
  metrics?.registerLeading(
    Object.fromEntries(controllers.map(({ name }) => [leases.leaseOf(name), () => leases.leads(name)])),
  );
  return {
    readyz: [
      leadershipCheck(leases),
      ...[builtin, plugins].flatMap(controllerChecks),
      reconcilesCheck([builtin, plugins]),
      pluginCheck(host),
    ],
    start: () => {
      leases.add(host);
      host.onTasks(() => leases.look());
      plugins.start();
      builtin.start();
      leases.start();
    },
    stop: async () => {
      await leases.stop();
      await Promise.all([builtin.stop(), plugins.stop()]);
    },
  };
}

const stateWords: Partial<Record<ControllerState, string>> = { waiting: 'stands by', starting: 'starts' };

function leadershipCheck(leases: Pick<TaskLeases, 'problem' | 'isLeading'>): HealthCheck {
  return {
    name: 'leader election',
    isInformative: true,
    check: async () => {
      if (leases.problem !== undefined) throw leases.problem;
      return leases.isLeading ? undefined : 'stands by';
    },
  };
}

function controllerChecks(manager: Pick<Manager, 'controllers'>): HealthCheck[] {
  return manager.controllers.map(({ name }) => ({
    name: `controller ${name}`,
    isInformative: true,
    check: async () => {
      const status = manager.controllers.find((each) => each.name === name);
      if (status?.problem !== undefined) throw status.problem;
      return status === undefined ? undefined : stateWords[status.state];
    },
  }));
}

function reconcilesCheck(managers: readonly Pick<Manager, 'failures'>[]): HealthCheck {
  return {
    name: 'reconciles',
    isInformative: true,
    check: async () => {
      const all = managers.flatMap(({ failures }) => (failures === undefined ? [] : [failures]));
      const [newest] = all.toSorted((a, b) => b.since - a.since);
      if (newest === undefined) return;
      const objects = all.reduce((sum, each) => sum + each.objects, 0);
      const { last } = newest;
      throw new Error(
        `${objects} objects fail; the last of controller ${last.controller}: ${last.request}, attempt ${last.attempt}`,
        { cause: last.error },
      );
    },
  };
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

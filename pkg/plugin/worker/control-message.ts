import type { MessagePort } from 'node:worker_threads';
import type { CustomResourceDefinition, PluginEndpoint } from '#pkg/apis/index';
import type { Status } from '#pkg/apimachinery/index';
import type { EndpointCall, EndpointResult } from '../endpoint/endpoint-call.ts';

/** What a plugin is made of, as its module says. */
export interface PluginDescription {
  models: readonly CustomResourceDefinition[];
  controllers: readonly string[];
  endpoints: readonly PluginEndpoint[];
}

/** What is wrong with the controllers of a plugin, for people; absent where nothing is. */
export interface PluginHealth {
  /** Controllers that cannot run, and why. */
  controllers?: string;
  /** Reconciles that fail. */
  reconciles?: string;
}

/** What the host tells a worker, on a port of their own that the plugin does not see. */
export type HostToWorker =
  | { kind: 'runControllers' }
  /** Until `runControllers` is told again; calls go on. */
  | { kind: 'stopControllers' }
  | { kind: 'call'; id: number; call: EndpointCall }
  /** The answer is no longer waited for. */
  | { kind: 'abort'; id: number }
  /** Reconciles and calls under way are to end. */
  | { kind: 'stop' };

export type WorkerToHost =
  | { kind: 'described'; description: PluginDescription }
  | { kind: 'notDescribed'; reason: string; message: string }
  | { kind: 'running' }
  | { kind: 'notRunning'; message: string }
  | { kind: 'controllersStopped' }
  | { kind: 'health'; health: PluginHealth }
  | { kind: 'result'; id: number; result: EndpointResult }
  | { kind: 'failure'; id: number; status: Status }
  | { kind: 'log'; level: LogLevel; details: string; message: string }
  | { kind: 'stopped' };

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** What a worker begins with. */
export interface WorkerStart {
  plugin: string;
  /** URL of the bundle. */
  module: string;
  control: MessagePort;
  client: MessagePort;
  pulse: SharedArrayBuffer;
  /** That it may have in use. */
  memoryMiB: number;
}

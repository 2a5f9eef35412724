import type { MessagePort } from 'node:worker_threads';
import type { CustomResourceDefinition, PluginEndpoint } from '#pkg/apis/index';
import type { Status } from '#pkg/apimachinery/index';
import type { EndpointCall, EndpointResult } from '../endpoint/endpoint-call.ts';

/** The parts of a plugin, as its module declares them. */
export interface PluginDescription {
  models: readonly CustomResourceDefinition[];
  controllers: readonly string[];
  endpoints: readonly PluginEndpoint[];
}

/** Problems of a plugin's controllers, human-readable; absent if there are none. */
export interface PluginHealth {
  /** Controllers that cannot run, and why. */
  controllers?: string;
  /** Reconciles that fail, and why. */
  reconciles?: string;
}

/** Messages from the host to a worker, on a port that the plugin does not see. */
export type HostToWorker =
  | { kind: 'runControllers' }
  /** Stops the controllers until the next `runControllers`; calls continue. */
  | { kind: 'stopControllers' }
  | { kind: 'call'; id: number; call: EndpointCall }
  /** The caller no longer waits for the answer. */
  | { kind: 'abort'; id: number }
  /** Running reconciles and calls must end. */
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

/** The data that a worker starts with. */
export interface WorkerStart {
  plugin: string;
  /** URL of the bundle. */
  module: string;
  control: MessagePort;
  client: MessagePort;
  pulse: SharedArrayBuffer;
  /** Limit of its heap and buffers. */
  memoryMiB: number;
}

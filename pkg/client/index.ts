/**
 * The doors of Client that lead out of the process or into it from a worker: over HTTP, and over a MessagePort.
 * The third, within the server's process, is the server's own.
 */
export type { ActAs } from './rest/acting-as.ts';
export { RestClient, type ConnectOptions, type RestClientOptions } from './rest/rest-client.ts';
export { loadKubeConfig } from './rest/kube-config.ts';
export { defaultRestLimits, type RestLimits } from './rest/rest-limits.ts';
export { PortClient, type PortClientOptions } from './port/port-client.ts';
export { servePort, type PortService, type ServePortOptions } from './port/serve-port.ts';

/**
 * The transports of Client across processes and threads: HTTP, and a worker's MessagePort. The third one, within the
 * server's process, belongs to the server.
 */
export type { ActAs } from './rest/acting-as.ts';
export { RestClient, type ConnectOptions, type RestClientOptions } from './rest/rest-client.ts';
export { loadKubeConfig } from './rest/kube-config.ts';
export { defaultRestLimits, type RestLimits } from './rest/rest-limits.ts';
export { PortClient, type PortClientOptions } from './port/port-client.ts';
export { servePort, type PortService, type ServePortOptions } from './port/serve-port.ts';

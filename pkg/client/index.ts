/**
 * The transports of Client that cross a process or thread: HTTP, and a worker's MessagePort.
 * The third, within the server's process, is the server's own. `wrapClient` changes what one of them does.
 */
export type { ImpersonatedUser } from './rest/impersonating-endpoint.ts';
export { RestClient, type ConnectOptions, type RestClientOptions } from './rest/rest-client.ts';
export { loadKubeConfig } from './rest/kube-config.ts';
export { defaultRestLimits, type RestLimits } from './rest/rest-limits.ts';
export { PortClient, type PortClientOptions } from './port/port-client.ts';
export { servePort, type PortService, type ServePortOptions } from './port/serve-port.ts';
export {
  ClientWrapper,
  wrapClient,
  type ClientHooks,
  type ClientRead,
  type ClientWrite,
  type ClientWriteOptions,
  type WriteResult,
} from './wrap/client-wrapper.ts';

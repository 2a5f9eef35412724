import type { Registry } from 'prom-client';
import { registerReading, type HttpServer } from '#pkg/http/index';

/** Shows a listener's connections as they are when asked. */
export function showConnections(registry: Registry, connections: () => HttpServer['connections']): void {
  registerReading({ registry, type: 'gauge', name: 'svc_http_connections', help: 'Open connections.', read: () => connections().open });
  registerReading({
    registry,
    type: 'counter',
    name: 'svc_http_connections_refused_total',
    help: 'Connections beyond a limit.',
    read: () => Object.entries(connections().refused).map(([reason, value]) => ({ labels: { reason }, value })),
  });
}

import type { Registry } from 'prom-client';
import type { HttpServer } from '../server/http-server.ts';
import { registerReading } from './register-reading.ts';

/** Exports a server's connections at the time of the scrape. */
export function registerConnectionMetrics(registry: Registry, connections: () => HttpServer['connections']): void {
  registerReading({
    registry,
    type: 'gauge',
    name: 'svc_http_connections',
    help: 'Open connections.',
    read: () => connections().open,
  });
  registerReading({
    registry,
    type: 'counter',
    name: 'svc_http_connections_refused_total',
    help: 'Connections beyond a limit.',
    read: () => Object.entries(connections().refused).map(([reason, value]) => ({ labels: { reason }, value })),
  });
  registerReading({
    registry,
    type: 'counter',
    name: 'svc_tls_handshakes_failed_total',
    help: 'Connections for https that ended before TLS was agreed on.',
    read: () => connections().failedHandshakes,
  });
}

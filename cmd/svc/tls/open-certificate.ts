import { isIP, isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { CertificateError, CertificateFiles, registerReading, type ServerCertificate } from '#pkg/http/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import type { Teardown } from '../process/teardown.ts';

export interface OpenedCertificate {
  certificate: ServerCertificate;
  /** PEM of the generated authority. */
  authority?: string;
}

export interface OpenCertificateParts {
  /** Whether to generate a certificate if the options name none. */
  selfMade: boolean;
  /** Another process of this server generates and renews it. Default false. */
  isKeptElsewhere?: boolean;
  log: Logger;
  teardown: Teardown;
}

/** The certificate of the process; undefined without TLS. Throws OperatorError. */
export async function openCertificate(
  options: Options,
  { selfMade, isKeptElsewhere = false, log, teardown }: OpenCertificateParts,
): Promise<OpenedCertificate | undefined> {
  const certFile = options['svc.tls.cert-file'];
  const keyFile = options['svc.tls.key-file'];
  const folder = join(options['svc.data.dir'], 'tls');
  const openPair = async (pair: { certFile: string; keyFile: string }): Promise<OpenedCertificate> => {
    const files = await openFiles({ ...pair, log });
    teardown.add('certificate files', () => files.close());
    return { certificate: files.certificate };
  };
  if (certFile !== undefined && keyFile !== undefined) return openPair({ certFile, keyFile });
  if (certFile !== undefined || keyFile !== undefined)
    throw new OperatorError('svc.tls.cert-file and svc.tls.key-file belong together; set both.');
  if (!selfMade) return undefined;
  if (isKeptElsewhere) return openPair({ certFile: join(folder, 'server.crt'), keyFile: join(folder, 'server.key') });
  const { LocalCertificate } = await import('./local-certificate.ts');
  const local = await LocalCertificate.open({
    folder,
    hosts: hostsOf(options),
    log,
  });
  teardown.add('certificate', () => local.close());
  return { certificate: local.certificate, authority: local.authority };
}

async function openFiles(files: { certFile: string; keyFile: string; log: Logger }): Promise<CertificateFiles> {
  try {
    return await CertificateFiles.open(files);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    throw new OperatorError(`svc.tls.cert-file and svc.tls.key-file cannot be used: ${error.message}.`, {
      cause: error,
    });
  }
}

/** Names for this server's certificate: the listening hosts, except wildcards. */
export function hostsOf(options: Options): string[] {
  const hosts = [
    options['svc.server.tls.host'] ?? options['svc.server.host'],
    options['svc.access.tls.host'] ?? options['svc.access.host'],
  ];
  return hosts
    .map(certifiedName)
    .filter((host) => (isIP(host) === 0 ? /^[a-z0-9.-]+$/.test(host) : host !== '0.0.0.0' && host !== '::'));
}

/** The form of a host in a certificate: an address without its zone, and an IPv4-mapped one as IPv4. */
export function certifiedName(host: string): string {
  if (!isIPv6(host)) return host.toLowerCase();
  // The canonical form of an IPv6 address.
  const address = new URL(`http://[${host.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address);
  if (mapped === null) return address;
  const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Shows the expiry of the certificate in use, for alerts. */
export function registerCertificateMetrics(registry: Registry, certificate: ServerCertificate): void {
  registerReading({
    registry,
    type: 'gauge',
    name: 'svc_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in use ends, in seconds since 1970.',
    read: () => certificate.notAfter.getTime() / 1000,
  });
}

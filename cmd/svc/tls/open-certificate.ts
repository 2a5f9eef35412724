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
  /** PEM, of the one that this program has made. */
  authority?: string;
}

export interface OpenCertificateParts {
  /** Make one where the options name none. */
  selfMade: boolean;
  log: Logger;
  teardown: Teardown;
}

/** What the process speaks TLS with; undefined where it does not. Throws OperatorError. */
export async function openCertificate(
  options: Options,
  { selfMade, log, teardown }: OpenCertificateParts,
): Promise<OpenedCertificate | undefined> {
  const certFile = options['svc.tls.cert-file'];
  const keyFile = options['svc.tls.key-file'];
  if (certFile !== undefined && keyFile !== undefined) {
    const files = await openFiles({ certFile, keyFile, log });
    teardown.add('certificate files', () => files.close());
    return { certificate: files.certificate };
  }
  if (certFile !== undefined || keyFile !== undefined)
    throw new OperatorError('svc.tls.cert-file and svc.tls.key-file belong together; set both.');
  if (!selfMade) return undefined;
  const { LocalCertificate } = await import('./local-certificate.ts');
  const local = await LocalCertificate.open({
    folder: join(options['svc.data.dir'], 'tls'),
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

/** What clients may know this server by: where it listens, unless that is everywhere. */
export function hostsOf(options: Options): string[] {
  const hosts = [
    options['svc.server.tls.host'] ?? options['svc.server.host'],
    options['svc.access.tls.host'] ?? options['svc.access.host'],
  ];
  return hosts
    .map(certifiedName)
    .filter((host) => (isIP(host) === 0 ? /^[a-z0-9.-]+$/.test(host) : host !== '0.0.0.0' && host !== '::'));
}

/** As a certificate has it: an address without its zone, and one of IPv4 in IPv4's own form. */
export function certifiedName(host: string): string {
  if (!isIPv6(host)) return host.toLowerCase();
  // As one way of writing of many.
  const address = new URL(`http://[${host.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address);
  if (mapped === null) return address;
  const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Shows the end of the certificate in use, for whoever is to be warned of it. */
export function showCertificate(registry: Registry, certificate: ServerCertificate): void {
  registerReading({
    registry,
    type: 'gauge',
    name: 'svc_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in use ends, in seconds since 1970.',
    read: () => certificate.notAfter.getTime() / 1000,
  });
}

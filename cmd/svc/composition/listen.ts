import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { ServerCertificate } from '#pkg/http/index';
import { isLoopback } from '../options/check-options.ts';
import type { OptionName } from '../options/option-table.ts';
import { explainListenFailure } from '../process/start-failure.ts';

interface At {
  host: string;
  port: number;
}

/** A `listen` whose failure is an OperatorError that names the options to change. */
export async function withListenErrors(
  listening: Promise<AddressInfo>,
  at: At,
  named: { host: OptionName; port: OptionName },
): Promise<AddressInfo> {
  try {
    return await listening;
  } catch (error) {
    throw explainListenFailure(error, at, named);
  }
}

/** Listens for https. Throws OperatorError. */
export function listenTls(
  server: { listenTls(at: At & { certificate: ServerCertificate }): Promise<AddressInfo> },
  at: At & { certificate: ServerCertificate },
  service: 'svc.server' | 'svc.access',
): Promise<AddressInfo> {
  return withListenErrors(server.listenTls(at), at, { host: `${service}.tls.host`, port: `${service}.tls.port` });
}

/** Warns about an unencrypted port: other machines can read and change what is sent to it. */
export function warnWithoutTls(address: AddressInfo, host: 'svc.server.host' | 'svc.access.host', log: Logger): void {
  if (isLoopback(address.address)) return;
  log.warn(
    { option: host, address: address.address, port: address.port },
    'other machines can reach this port, which has no TLS: passwords, tokens and sessions can be read in transit; listen on 127.0.0.1 and serve https, or allow only a proxy that does',
  );
}

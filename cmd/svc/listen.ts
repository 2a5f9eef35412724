import type { AddressInfo } from 'node:net';
import type { ServerCertificate } from '#pkg/http/index';
import type { OptionName } from './options/option-table.ts';
import { explainListenFailure } from './start-failure.ts';

interface At {
  host: string;
  port: number;
}

/** A `listen` whose failure is an OperatorError that names the options to change. */
export async function explained(listening: Promise<AddressInfo>, at: At, named: { host: OptionName; port: OptionName }): Promise<AddressInfo> {
  try {
    return await listening;
  } catch (error) {
    throw explainListenFailure(error, at, named);
  }
}

/** Listens for https. Throws OperatorError. */
export function listenTls(server: { listenTls(at: At & { certificate: ServerCertificate }): Promise<AddressInfo> }, at: At & { certificate: ServerCertificate }, service: 'svc.server' | 'svc.access'): Promise<AddressInfo> {
  return explained(server.listenTls(at), at, { host: `${service}.tls.host`, port: `${service}.tls.port` });
}

import { readFile } from 'node:fs/promises';
import { isIP, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Options } from '../options/option-table.ts';
import { urlOf } from '../process/browser-url.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { certifiedName, type OpenedCertificate } from './open-certificate.ts';

export interface PrepareKubeconfigParts {
  opened: OpenedCertificate;
  tlsAddress: AddressInfo;
  /** The administrator's token file. */
  tokenFile: string;
  log: Logger;
}

/** Writes `kubeconfig` into the data folder, for this machine; undefined if another program's file exists. */
export async function prepareKubeconfig(
  options: Options,
  { opened: { authority, certificate }, tlsAddress, tokenFile, log }: PrepareKubeconfigParts,
): Promise<string | undefined> {
  const file = join(options['svc.data.dir'], 'kubeconfig');
  const host = options['svc.server.tls.host'] ?? options['svc.server.host'];
  const serverName = authority === undefined ? certificate.dnsNames[0] : undefined;
  const written = await writeKubeconfig(file, {
    url: urlOf(addressFor(host, tlsAddress), tlsAddress, 'https'),
    token: (await readFile(tokenFile, 'utf8')).trim(),
    ...(authority === undefined ? {} : { authority }),
    ...(serverName === undefined ? {} : { serverName }),
  });
  if (!written) log.info({ file }, 'this kubeconfig was not written by svc; it is kept unchanged');
  return written ? file : undefined;
}

/** A name is in the certificate as it was given; for a wildcard, the loopback address. */
function addressFor(host: string, { address }: AddressInfo): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1';
  return isIP(host) === 0 && host !== 'localhost' ? host : certifiedName(address);
}

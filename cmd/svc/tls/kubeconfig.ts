import { readSecretFile, writeSecretFile } from '#pkg/access/index';

/** A user who removes this line keeps the file. */
export const kubeconfigMark = '# Written by svc at each start, for as long as this line is here.';

export interface KubeconfigParts {
  /** `https://127.0.0.1:8443` */
  url: string;
  token: string;
  /** PEM; without it the system's authorities apply. */
  authority?: string;
  /** The name to expect in the certificate, if it differs from the URL's host. */
  serverName?: string;
}

/**
 * Writes a kubeconfig for the administrator (0600). False if the file was not written by this program; then it stays
 * unchanged.
 */
export async function writeKubeconfig(file: string, parts: KubeconfigParts): Promise<boolean> {
  const wanted = formatKubeconfig(parts).trimEnd();
  const present = await readSecretFile(file);
  if (present !== undefined && !present.startsWith(kubeconfigMark)) return false;
  if (present?.trimEnd() !== wanted) await writeSecretFile(file, wanted);
  return true;
}

function formatKubeconfig({ url, token, authority, serverName }: KubeconfigParts): string {
  const cluster = {
    server: url,
    ...(authority === undefined ? {} : { 'certificate-authority-data': Buffer.from(authority).toString('base64') }),
    ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'svc',
    clusters: [{ name: 'svc', cluster }],
    contexts: [{ name: 'svc', context: { cluster: 'svc', user: 'admin' } }],
    users: [{ name: 'admin', user: { token } }],
  };
  // JSON is YAML.
  return `${kubeconfigMark}\n${JSON.stringify(config, undefined, 2)}`;
}

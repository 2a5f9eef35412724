import type { RequestOptions } from 'node:https';
import { parseServerUrl, type Credentials, type ServerEndpoint } from './server-endpoint.ts';

/** Credentials are read again after this time, because their tokens may have been renewed. Milliseconds. */
const credentialsLifeMs = 30_000;

/** A `KubeConfig` of `@kubernetes/client-node`. */
export interface LoadedKubeConfig {
  getCurrentCluster(): { server: string; proxyUrl?: string | undefined } | null;
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}

/**
 * Reads a kubeconfig: the file, or by default the one that kubectl would use (`KUBECONFIG`, `~/.kube/config`, a pod's
 * service account). Loads the Kubernetes client only here, because it takes 0.4 s and 80 MB.
 */
export async function loadKubeConfig(file?: string): Promise<LoadedKubeConfig> {
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const config = new Config();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  return config;
}

/** The server of the current context, with its user's certificate, token, password or credential program. */
export class KubeConfigEndpoint implements ServerEndpoint {
  readonly url: URL;
  readonly #config: LoadedKubeConfig;
  readonly #isProxied: boolean;
  #asked: { at: number; credentials: Promise<Credentials> } | undefined;

  /** @throws TypeError if the current context has no server */
  constructor(config: LoadedKubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new TypeError('the current context of the kubeconfig names no server');
    this.url = parseServerUrl(cluster.server);
    this.#config = config;
    this.#isProxied = cluster.proxyUrl !== undefined && cluster.proxyUrl !== '';
  }

  credentials(): Promise<Credentials> {
    const now = performance.now();
    if (this.#asked === undefined || now - this.#asked.at > credentialsLifeMs)
      this.#asked = { at: now, credentials: this.#ask() };
    return this.#asked.credentials;
  }

  credentialsRefused(): void {
    this.#asked = undefined;
  }

  async #ask(): Promise<Credentials> {
    try {
      const options: RequestOptions = {};
      await this.#config.applyToHTTPSOptions(options);
      const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername, auth, agent } = options;
      const tls = Object.fromEntries(
        Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }).filter(
          ([, value]) => value !== undefined,
        ),
      );
      return {
        headers: { ...headersOf(options), ...(typeof auth === 'string' ? basic(auth) : {}) },
        tls,
        ...(this.#isProxied && typeof agent === 'object' ? { agent } : {}),
      };
    } catch (error) {
      this.#asked = undefined;
      throw error;
    }
  }
}

function headersOf({ headers = {} }: RequestOptions): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), String(value)]],
    ),
  );
}

function basic(auth: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(auth).toString('base64')}` };
}

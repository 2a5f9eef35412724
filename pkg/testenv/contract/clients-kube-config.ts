import { KubeConfig } from '@kubernetes/client-node';

/**
 * The kubeconfig of an unmodified client for a test server: it sends the token over plain http only if TLS verification
 * is off.
 */
export function kubeConfig(server: string, token: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'test', server, skipTLSVerify: true }],
    users: [{ name: 'admin', token }],
    contexts: [{ name: 'test', cluster: 'test', user: 'admin' }],
    currentContext: 'test',
  });
  return config;
}

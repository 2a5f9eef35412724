import { KubeConfig } from '@kubernetes/client-node';

/** How an unmodified client reaches a test server: plain http goes with the token only when TLS verification is off. */
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

import { describe, expect, test } from '@jest/globals';
import { hasSchemaOf, problemsOf, type KubernetesDocument } from './validate-document.ts';

const labels = { app: 'a' };
const container = {
  name: 'a',
  image: 'a:1',
  ports: [{ name: 'http', containerPort: 1 }],
  resources: { limits: { memory: '1Gi' } },
};

function deployment(spec: object = {}, pod: object = {}, metadata: object = {}): KubernetesDocument {
  const template = { metadata: { labels }, spec: { containers: [container], ...pod } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', ...metadata },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  };
}

function of(apiVersion: string, kind: string, spec: object): KubernetesDocument {
  return { apiVersion, kind, metadata: { name: 'a' }, spec };
}

const cluster = { instances: 1, storage: { size: '1Gi' } };
const monitor = { selector: { matchLabels: labels }, endpoints: [{ port: 'http' }] };
const route = { parentRefs: [{ name: 'a' }], rules: [{ backendRefs: [{ name: 'a', port: 1 }] }] };

describe('a document', () => {
  const right: KubernetesDocument[] = [
    deployment(),
    of('postgresql.cnpg.io/v1', 'Cluster', cluster),
    of('monitoring.coreos.com/v1', 'ServiceMonitor', monitor),
    of('gateway.networking.k8s.io/v1', 'HTTPRoute', route),
  ];
  test.each(right)('of kind $kind that is valid has no problem', (document) => {
    expect(problemsOf(document)).toEqual([]);
  });

  const wrong: { reason: string; document: KubernetesDocument; says: RegExp }[] = [
    { reason: 'an unknown field', document: deployment({ replicaz: 2 }), says: /\/spec\/replicaz is no known field/ },
    {
      reason: 'an unknown field at the top',
      document: { ...deployment(), spek: {} },
      says: /\/spek is no known field/,
    },
    {
      reason: 'an unknown field of the metadata',
      document: deployment({}, {}, { label: {} }),
      says: /\/metadata\/label is no known field/,
    },
    {
      reason: 'an unknown field in a list',
      document: deployment({}, { containers: [container, { ...container, imagee: 'b' }] }),
      says: /\/spec\/template\/spec\/containers\/1\/imagee is no known field/,
    },
    {
      reason: 'an unknown field named like a property of Object',
      document: deployment({ constructor: 2 }),
      says: /\/spec\/constructor is no known field/,
    },
    { reason: 'a wrong type', document: deployment({ replicas: 'two' }), says: /replicas must be integer/ },
    {
      reason: 'a wrong type of a label',
      document: deployment({}, {}, { labels: { a: 1 } }),
      says: /labels\/a must be string/,
    },
    {
      reason: 'a missing name',
      document: deployment({}, { containers: [{ image: 'a:1' }] }),
      says: /required property '?name/,
    },
    {
      reason: 'a missing selector',
      document: of('apps/v1', 'Deployment', { template: {} }),
      says: /required property '?selector/,
    },
    {
      reason: 'of CloudNativePG, an unknown field',
      document: of('postgresql.cnpg.io/v1', 'Cluster', { ...cluster, instancez: 1 }),
      says: /\/spec\/instancez is no known field/,
    },
    {
      reason: 'of CloudNativePG, a wrong type',
      document: of('postgresql.cnpg.io/v1', 'Cluster', { ...cluster, instances: 'one' }),
      says: /instances must be integer/,
    },
    {
      reason: 'of the Prometheus operator, an unknown field',
      document: of('monitoring.coreos.com/v1', 'ServiceMonitor', { ...monitor, endpoints: [{ prot: 'http' }] }),
      says: /\/spec\/endpoints\/0\/prot is no known field/,
    },
    {
      reason: 'of the Gateway API, an unknown field',
      document: of('gateway.networking.k8s.io/v1', 'HTTPRoute', { ...route, hostname: [] }),
      says: /\/spec\/hostname is no known field/,
    },
    {
      reason: 'of the Gateway API, a wrong type',
      document: of('gateway.networking.k8s.io/v1', 'HTTPRoute', { ...route, hostnames: [1] }),
      says: /hostnames\/0 must be string/,
    },
  ];
  test.each(wrong)('with $reason is refused', ({ document, says }) => {
    expect(problemsOf(document).join('\n')).toMatch(says);
  });

  const certificate = { secretName: 'a', issuerRef: { name: 'a' }, dnsNames: ['a'] };
  const certificates = hasSchemaOf(of('cert-manager.io/v1', 'Certificate', certificate)) ? test : test.skip;
  certificates('of cert-manager is held to its definition', () => {
    expect(problemsOf(of('cert-manager.io/v1', 'Certificate', certificate))).toEqual([]);
    expect(problemsOf(of('cert-manager.io/v1', 'Certificate', { ...certificate, dnsName: 'a' }))).toEqual([
      '/spec/dnsName is no known field',
    ]);
    expect(problemsOf(of('cert-manager.io/v1', 'Certificate', { secretName: 'a' })).join('\n')).toMatch(/issuerRef/);
  });

  test('of a kind without a schema here is an error', () => {
    expect(() => problemsOf(of('apps/v1', 'Deploymint', {}))).toThrow(/no schema of apps\/v1 Deploymint/);
  });
});

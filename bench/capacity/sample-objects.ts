import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { definitionOf, pathOf, postText } from '../sample-post.ts';

type Json = Record<string, unknown>;

/** A model with objects that vary like real ones. */
export interface SampleObjects {
  name: string;
  plural: string;
  definition: object;
  path: string;
  /** Object `i` in version `round`. */
  object(i: number, round: number): Json;
  status(round: number): Json;
}

/** A seeded sequence of words: it compresses like prose, unlike a repeated letter. */
function prose(bytes: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  const words: string[] = [];
  for (let length = 0; length < bytes;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const word = (state >>> 8).toString(36).slice(0, 2 + (state % 7)) + vocabulary[(state >>> 16) % vocabulary.length]!;
    words.push(word);
    length += word.length + 1;
  }
  return words.join(' ').slice(0, bytes);
}

const vocabulary =
  'ing er of the and to in that is for with as on by at from this be or an which not are but have had were their'.split(
    ' ',
  );

const conditions = (round: number): Json => ({
  status: {
    conditions: [
      {
        type: 'Ready',
        status: round % 2 === 0 ? 'True' : 'False',
        reason: 'Reconciled',
        message: `looked at ${round} times`,
        lastTransitionTime: '2026-11-20T08:00:00Z',
      },
    ],
    observedGeneration: round,
  },
});

/** Posts with three labels and five indexed fields, of about this many kilobytes of JSON. */
export function posts(kilobytes: number): SampleObjects {
  const model = { plural: `posts-of-${kilobytes}k`, kind: `PostOf${kilobytes}k` };
  return {
    name: `${kilobytes} kB, 5 indexes`,
    plural: model.plural,
    path: pathOf(model),
    definition: withStatus(definitionOf(model)),
    object: (i, round) => {
      const post = JSON.parse(postText(model, { name: `post-${i}`, number: i, title: `Morning ${round}` })) as {
        spec: Json;
      };
      post.spec['excerpt'] = prose(400, i);
      post.spec['attachment'] = prose(Math.max(0, kilobytes * 1024 - 1150), i + 7);
      return post;
    },
    status: conditions,
  };
}

/** Adds the status subresource; without `indexes` it has only the built-in indexes. */
function withStatus(definition: object): object {
  const text = JSON.stringify(definition);
  const copy = JSON.parse(text) as {
    spec: { versions: { subresources?: object; schema: { openAPIV3Schema: { properties: Json } } }[] };
  };
  for (const version of copy.spec.versions) {
    version.subresources = { status: {} };
    version.schema.openAPIV3Schema.properties['status'] = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
    };
  }
  return copy;
}

const certificatesFile = fileURLToPath(
  new URL('../../../shared/data/cert-manager/crds/cert-manager.io_certificates.yaml', import.meta.url),
);
const routesFile = fileURLToPath(
  new URL('../../../shared/data/gateway-api/crds/gateway.networking.k8s.io_httproutes.yaml', import.meta.url),
);

/** Models of public projects, without indexes; empty if their files are missing. */
export function realModels(): SampleObjects[] {
  return [...(existsSync(certificatesFile) ? [certificates()] : []), ...(existsSync(routesFile) ? [routes()] : [])];
}

function certificates(): SampleObjects {
  return {
    name: 'Certificate of cert-manager',
    plural: 'certificates',
    path: '/apis/cert-manager.io/v1/namespaces/default/certificates',
    definition: parse(readFileSync(certificatesFile, 'utf8')) as object,
    object: (i, round) => ({
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: {
        name: `site-${i}-example-com`,
        namespace: 'default',
        labels: { 'app.kubernetes.io/name': 'site', 'app.kubernetes.io/instance': `site-${i}` },
        annotations: { 'example.com/owner': prose(30, i) },
      },
      spec: {
        secretName: `site-${i}-tls`,
        duration: '2160h0m0s',
        renewBefore: `${360 + round}h0m0s`,
        dnsNames: [`site-${i}.example.com`, `www.site-${i}.example.com`],
        issuerRef: { group: 'cert-manager.io', kind: 'ClusterIssuer', name: 'letsencrypt' },
        privateKey: { algorithm: 'RSA', encoding: 'PKCS1', size: 2048 },
        usages: ['server auth', 'client auth'],
      },
    }),
    status: (round) => ({
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'Ready',
            message: 'Certificate is up to date and has not expired',
            lastTransitionTime: '2026-11-20T08:00:00Z',
            observedGeneration: round,
          },
        ],
        notAfter: '2027-02-18T08:00:00Z',
        notBefore: '2026-11-20T08:00:00Z',
        renewalTime: '2027-01-19T08:00:00Z',
        revision: round,
      },
    }),
  };
}

function routes(): SampleObjects {
  return {
    name: 'HTTPRoute of Gateway API',
    plural: 'httproutes',
    path: '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes',
    definition: parse(readFileSync(routesFile, 'utf8')) as object,
    object: (i, round) => ({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: `route-${i}`, namespace: 'default', labels: { gateway: `edge-${i % 10}` } },
      spec: {
        parentRefs: [{ name: `edge-${i % 10}` }],
        hostnames: [`site-${i}.example.com`],
        rules: ['login', 'api', 'static'].map((path, rule) => ({
          matches: [
            {
              path: { type: 'PathPrefix', value: `/${path}` },
              headers: [{ type: 'Exact', name: 'x-tenant', value: `tenant-${i}` }],
            },
          ],
          filters: [
            {
              type: 'RequestHeaderModifier',
              requestHeaderModifier: { set: [{ name: 'x-route', value: `${i}-${rule}` }] },
            },
          ],
          backendRefs: [
            { name: `${path}-${i}`, port: 8080, weight: 90 + (round % 10) },
            { name: `${path}-canary`, port: 8080, weight: 10 },
          ],
        })),
      },
    }),
    status: (round) => ({
      status: {
        parents: [
          {
            parentRef: { name: 'edge' },
            controllerName: 'example.com/gateway',
            conditions: [
              {
                type: 'Accepted',
                status: 'True',
                reason: 'Accepted',
                message: 'Route is accepted',
                lastTransitionTime: '2026-11-20T08:00:00Z',
                observedGeneration: round,
              },
            ],
          },
        ],
      },
    }),
  };
}

import { ofKind, podsOf, selects, titleOf, type Labels, type Pods, type Release } from './release.ts';

interface Backend {
  name: string;
  port: string | number;
}

/**
 * Each named port exists: in the probed container, in the pods of a Service or policy, in the Service of a route or
 * monitor.
 */
export function portsExist(release: Release): string[] {
  return [
    ...probes(release),
    ...services(release),
    ...routes(release),
    ...monitors(release),
    ...policies(release),
    ...urls(release),
  ];
}

function probes(release: Release): string[] {
  return podsOf(release).flatMap(({ owner, spec }) =>
    spec.containers.flatMap(({ ports = [], startupProbe, readinessProbe, livenessProbe }) =>
      [startupProbe, readinessProbe, livenessProbe]
        .filter((probe) => probe !== undefined && !ports.some(({ name }) => name === probe.httpGet.port))
        .map((probe) => `${owner}: there is no port ${probe!.httpGet.port}`),
    ),
  );
}

function podsWith(release: Release, matchLabels: Labels): Pods[] {
  return podsOf(release).filter(({ labels }) => selects({ matchLabels }, labels));
}

function hasPort(pods: readonly Pods[], port: string | number): boolean {
  return pods.some(({ spec }) =>
    spec.containers.some(({ ports = [] }) =>
      ports.some(({ name, containerPort }) => name === port || containerPort === port),
    ),
  );
}

function services(release: Release): string[] {
  return ofKind(release, 'Service').flatMap((document) => {
    const { selector, ports } = document['spec'] as { selector: Labels; ports: { targetPort: string }[] };
    return ports
      .filter(({ targetPort }) => !hasPort(podsWith(release, selector), targetPort))
      .map(({ targetPort }) => `${titleOf(document)}: no pod has the port ${targetPort}`);
  });
}

function serves(release: Release, { name, port }: Backend): boolean {
  const service = ofKind(release, 'Service').find(({ metadata }) => metadata.name === name)?.['spec'] as
    { ports: { name: string; port: number }[] } | undefined;
  return service?.ports.some((each) => each.name === port || each.port === port) === true;
}

function routes(release: Release): string[] {
  interface IngressSpec {
    rules: { http: { paths: { backend: { service: { name: string; port: { name: string } } } }[] } }[];
  }
  const ingresses = ofKind(release, 'Ingress').flatMap((document) =>
    (document['spec'] as IngressSpec).rules.flatMap(({ http }) =>
      http.paths.map(({ backend: { service } }) => ({
        document,
        backend: { name: service.name, port: service.port.name },
      })),
    ),
  );
  const httpRoutes = ofKind(release, 'HTTPRoute').flatMap((document) =>
    (document['spec'] as { rules: { backendRefs: Backend[] }[] }).rules.flatMap(({ backendRefs }) =>
      backendRefs.map((backend) => ({ document, backend })),
    ),
  );
  return [...ingresses, ...httpRoutes]
    .filter(({ backend }) => !serves(release, backend))
    .map(({ document, backend }) => `${titleOf(document)}: ${backend.name} has no port ${backend.port}`);
}

function monitors(release: Release): string[] {
  return ofKind(release, 'ServiceMonitor').flatMap((document) => {
    const { endpoints } = document['spec'] as { endpoints: { port: string }[] };
    return endpoints
      .filter(({ port }) => !serves(release, { name: document.metadata.name, port }))
      .map(({ port }) => `${titleOf(document)}: its Service has no port ${port}`);
  });
}

function policies(release: Release): string[] {
  return ofKind(release, 'NetworkPolicy').flatMap((document) => {
    const { podSelector, ingress } = document['spec'] as {
      podSelector: { matchLabels: Labels };
      ingress: { ports: { port: string }[] }[];
    };
    const ports = ingress.flatMap((rule) => rule.ports.map(({ port }) => port));
    return ports
      .filter((port) => !hasPort(podsWith(release, podSelector.matchLabels), port))
      .map((port) => `${titleOf(document)}: its pods have no port ${port}`);
  });
}

/** URLs between pods. */
function urls(release: Release): string[] {
  return podsOf(release).flatMap(({ owner, spec }) =>
    spec.containers.flatMap(({ env = [] }) =>
      env.flatMap(({ value = '' }) => {
        const match = /^(https?):\/\/([a-z0-9-]+)\.prod\.svc:(\d+)$/.exec(value);
        if (match === null) return [];
        const [, scheme, name, port] = match;
        return serves(release, { name: name!, port: Number(port) }) && serves(release, { name: name!, port: scheme! })
          ? []
          : [`${owner}: ${value} leads nowhere`];
      }),
    ),
  );
}

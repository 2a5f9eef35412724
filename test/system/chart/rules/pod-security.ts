import { containersOf, podsOf, type Container, type PodSpec, type Release } from './release.ts';

/**
 * Every container satisfies Kubernetes' restricted pod security profile, writes to volumes only, and declares its
 * resources; no pod gets a Kubernetes token. The profile:
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
 */
export function podSecurity(release: Release): string[] {
  return podsOf(release).flatMap((pods) => [
    ...problemsOfPod(pods.spec).map((problem) => `${pods.owner}: ${problem}`),
    ...containersOf(pods).flatMap((container) =>
      problemsOfContainer(container).map((problem) => `${pods.owner}, ${container.name}: ${problem}`),
    ),
  ]);
}

function problemsOfPod({
  securityContext = {},
  automountServiceAccountToken,
  hostNetwork,
  hostPID,
  volumes = [],
}: PodSpec): string[] {
  return [
    ...(automountServiceAccountToken === false ? [] : ['it has a token of Kubernetes']),
    ...(securityContext['runAsNonRoot'] === true &&
    isOurs(securityContext['runAsUser']) &&
    isOurs(securityContext['runAsGroup'])
      ? []
      : ['it does not run as 10001']),
    ...(JSON.stringify(securityContext['seccompProfile']) === '{"type":"RuntimeDefault"}'
      ? []
      : ['it has no seccomp profile']),
    ...(hostNetwork === undefined && hostPID === undefined && volumes.every(({ hostPath }) => hostPath === undefined)
      ? []
      : ['it has something of its node']),
  ];
}

/** The image's own ID, or the cluster's choice. */
function isOurs(id: unknown): boolean {
  return id === 10001 || id === undefined;
}

function problemsOfContainer({ securityContext = {}, resources }: Container): string[] {
  const { capabilities } = securityContext;
  return [
    ...(securityContext['allowPrivilegeEscalation'] === false ? [] : ['it may gain rights']),
    ...(securityContext['readOnlyRootFilesystem'] === true ? [] : ['its root can be written to']),
    ...(securityContext['privileged'] === undefined && JSON.stringify(capabilities) === '{"drop":["ALL"]}'
      ? []
      : ['it has capabilities']),
    ...(resources?.requests?.['cpu'] !== undefined &&
    resources.requests['memory'] !== undefined &&
    resources.limits?.['memory'] !== undefined &&
    resources.requests['ephemeral-storage'] !== undefined &&
    resources.limits['ephemeral-storage'] !== undefined
      ? []
      : ['it does not say what it needs']),
  ];
}

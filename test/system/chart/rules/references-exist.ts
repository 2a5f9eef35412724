import type { KubernetesDocument } from '../validate-document.ts';
import {
  containersOf,
  hookOf,
  ofKind,
  podsOf,
  titleOf,
  type Container,
  type Pods,
  type Release,
  type Volume,
} from './release.ts';

/**
 * Each Secret, ConfigMap and service account of a pod is created with its key, or listed as existing; mounts and
 * volumes match.
 */
export function referencesExist(release: Release): string[] {
  return podsOf(release).flatMap((pods) =>
    [...volumesOf(release, pods), ...environmentOf(release, pods), ...accountsOf(release, pods)].map(
      (problem) => `${pods.owner}: ${problem}`,
    ),
  );
}

/**
 * It must be created before, and not deleted before, the object that references it: a pre-upgrade hook runs before the
 * rest of the release, and is deleted unless its policy says otherwise.
 */
function find(
  release: Release,
  { document }: Pods,
  kind: string,
  name: string,
): KubernetesDocument | 'existing' | undefined {
  if (release.existing.has(`${kind}/${name}`)) return 'existing';
  const found = ofKind(release, kind).find(({ metadata }) => metadata.name === name);
  if (found === undefined) return undefined;
  const isThere =
    staysFromInstallation(found) ||
    hookOf(found) === hookOf(document) ||
    (hookOf(found) === undefined && hookOf(document)?.startsWith('pre-') !== true);
  return isThere ? found : undefined;
}

/** A hook without a policy is deleted before it is created again. */
function staysFromInstallation(document: KubernetesDocument): boolean {
  return (
    hookOf(document)?.split(',').includes('pre-install') === true &&
    document.metadata.annotations?.['helm.sh/hook-delete-policy'] === 'hook-failed'
  );
}

function missing(
  release: Release,
  pods: Pods,
  { kind, name, keys }: { kind: string; name: string; keys: readonly string[] },
): string[] {
  const found = find(release, pods, kind, name);
  if (found === undefined) return [`there is no ${kind} ${name}`];
  if (found === 'existing') return [];
  return keys
    .filter((key) => !Object.hasOwn(found['data'] as object, key))
    .map((key) => `${kind} ${name} has no ${key}`);
}

function volumesOf(release: Release, pods: Pods): string[] {
  const { volumes = [] } = pods.spec;
  const mounted = containersOf(pods).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
  const paths = containersOf(pods).flatMap((container) =>
    twice((container.volumeMounts ?? []).map(({ mountPath }) => mountPath)),
  );
  return [
    ...twice(volumes.map(({ name }) => name)).map((name) => `there are two volumes ${name}`),
    ...paths.map((path) => `two volumes are mounted at ${path}`),
    ...mounted
      .filter((name) => !volumes.some((volume) => volume.name === name))
      .map((name) => `there is no volume ${name}`),
    ...volumes.filter(({ name }) => !mounted.includes(name)).map(({ name }) => `nobody mounts ${name}`),
    ...volumes.flatMap((volume) => sourceOf(release, pods, volume)),
  ];
}

function sourceOf(release: Release, pods: Pods, { secret, configMap, persistentVolumeClaim }: Volume): string[] {
  const keysOf = (items: { key: string }[] = []): string[] => items.map(({ key }) => key);
  if (secret !== undefined)
    return missing(release, pods, { kind: 'Secret', name: secret.secretName, keys: keysOf(secret.items) });
  if (configMap !== undefined)
    return missing(release, pods, { kind: 'ConfigMap', name: configMap.name, keys: keysOf(configMap.items) });
  if (persistentVolumeClaim !== undefined)
    return missing(release, pods, { kind: 'PersistentVolumeClaim', name: persistentVolumeClaim.claimName, keys: [] });
  return [];
}

function environmentOf(release: Release, pods: Pods): string[] {
  return containersOf(pods).flatMap(({ env = [] }) => [
    ...twice(env.map(({ name }) => name)).map((name) => `${name} is set twice`),
    ...env.flatMap(({ valueFrom }) =>
      valueFrom?.secretKeyRef === undefined
        ? []
        : missing(release, pods, {
            kind: 'Secret',
            name: valueFrom.secretKeyRef.name,
            keys: [valueFrom.secretKeyRef.key],
          }),
    ),
    ...filesOf(
      pods,
      env.map(({ value = '' }) => value),
    ),
  ]);
}

/** The file of a variable below /etc/svc must be mounted. */
function filesOf(pods: Pods, values: readonly string[]): string[] {
  const files = new Set(pods.spec.containers.flatMap((container) => mountedFiles(pods, container)));
  return values
    .filter((value) => value.startsWith('/etc/svc/') && !files.has(value))
    .map((value) => `there is no file ${value}`);
}

function mountedFiles({ spec }: Pods, { volumeMounts = [] }: Container): string[] {
  return volumeMounts.flatMap(({ name, mountPath }) =>
    (spec.volumes?.find((volume) => volume.name === name)?.secret?.items ?? []).map(
      ({ path }) => `${mountPath}/${path}`,
    ),
  );
}

function accountsOf(release: Release, pods: Pods): string[] {
  const { serviceAccountName: account, imagePullSecrets = [] } = pods.spec;
  return [
    ...(account === undefined || account === 'default'
      ? []
      : missing(release, pods, { kind: 'ServiceAccount', name: account, keys: [] })),
    ...imagePullSecrets.flatMap(({ name }) => missing(release, pods, { kind: 'Secret', name, keys: [] })),
  ];
}

function twice(names: readonly string[]): string[] {
  return names.filter((name, index) => names.indexOf(name) !== index);
}

/**
 * Names are DNS labels, so that they are valid for Services, labels and pods; no two objects of a kind have the same
 * name.
 */
export function namesFit({ documents }: Release): string[] {
  return [
    ...documents
      .filter(({ metadata }) => !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(metadata.name) || metadata.name.length > 63)
      .map((document) => `${titleOf(document)} is no name`),
    ...documents
      .filter(({ kind, metadata }) => kind === 'CronJob' && metadata.name.length > 52)
      .map((document) => `${titleOf(document)} is too long for its jobs`),
    ...twice(documents.map(titleOf)).map((title) => `there are two of ${title}`),
    ...documents.flatMap((document) =>
      Object.entries(document.metadata.labels ?? {})
        .filter(([, value]) => !/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/.test(value))
        .map(([name]) => `${titleOf(document)}: ${name} is no label`),
    ),
    ...documents
      .filter(({ metadata }) => metadata.namespace !== 'prod')
      .map((document) => `${titleOf(document)} is in no namespace`),
  ];
}

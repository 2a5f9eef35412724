import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ContainerSpec, EnvSpec, Manifests, PodSpec, VolumeSpec } from './manifests.ts';

export interface PodPlace {
  manifests: Manifests;
  /** Belongs to this pod only. */
  folder: string;
  /** Its address. */
  ip: string;
  name: string;
  /** Addresses of the cluster's services, by name. */
  services: ReadonlyMap<string, string>;
}

/** A container's view on this machine: its files in a folder, its own address, service names resolved. */
export interface ContainerView {
  args: string[];
  env: Record<string, string>;
}

/** Writes a container's volumes, and computes its arguments and environment. */
export function prepareContainer(container: ContainerSpec, pod: PodSpec, place: PodPlace): ContainerView {
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, subPath }) => ({
    mountPath,
    path: join(place.folder, 'volumes', name, subPath ?? ''),
  }));
  const local = (text: string): string =>
    resolveServices(resolvePaths(text, new Map(mounts.map(({ mountPath, path }) => [mountPath, path]))), place);
  for (const volume of pod.volumes ?? []) writeVolume(volume, place, local);
  const env: Record<string, string> = {};
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    for (const [name, value] of Object.entries(
      configMapRef === undefined
        ? place.manifests.secret(secretRef?.name ?? '')
        : place.manifests.configMap(configMapRef.name),
    ))
      env[name] = local(value);
  }
  for (const spec of container.env ?? [])
    env[spec.name] = listening(spec.name, local(expand(valueOf(spec, place), env)), place);
  return { args: (container.args ?? []).map((arg) => local(expand(arg, env))), env };
}

/** A wildcard address becomes the pod's, because other pods are on the same machine. */
function listening(name: string, value: string, { ip }: PodPlace): string {
  return name.endsWith('_HOST') && (value === '0.0.0.0' || value === '::') ? ip : value;
}

function valueOf({ name, value, valueFrom }: EnvSpec, { manifests, ip, name: podName }: PodPlace): string {
  if (valueFrom === undefined) return value ?? '';
  const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom;
  const found =
    secretKeyRef !== undefined
      ? manifests.secret(secretKeyRef.name)[secretKeyRef.key]
      : configMapKeyRef !== undefined
        ? manifests.configMap(configMapKeyRef.name)[configMapKeyRef.key]
        : { 'status.podIP': ip, 'metadata.name': podName, 'metadata.namespace': 'default', 'spec.nodeName': 'here' }[
            fieldRef?.fieldPath ?? ''
          ];
  if (found === undefined)
    throw new Error(`${name} of ${podName} refers to a source that does not exist: ${JSON.stringify(valueFrom)}`);
  return found;
}

/** Kubernetes' references: `$(NAME)` to earlier variables. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (whole, name: string) =>
    Object.hasOwn(env, name) ? (env[name] ?? '') : whole,
  );
}

function resolveServices(text: string, { services }: PodPlace): string {
  return text.replaceAll(
    /\/\/([a-z0-9-]+)(?:\.[a-z0-9-]+)*(?::(\d+))?(?=[/\s"',]|$)/g,
    (whole, name: string, port = '80') =>
      services.has(name) ? `//${services.get(name) ?? ''}:${servicePort(Number(port))}` : whole,
  );
}

/** The local port of a service: low ones need root. */
export function servicePort(port: number): number {
  return port < 1024 ? port + 10_000 : port;
}

/** Replaces each mounted path, but not as a part of a longer path, by its folder. */
function resolvePaths(text: string, folders: ReadonlyMap<string, string>): string {
  if (folders.size === 0) return text;
  // The longest first, for nested mounts.
  const paths = [...folders.keys()]
    .toSorted((one, other) => other.length - one.length)
    .map((path) => path.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return text.replaceAll(
    new RegExp(`(^|[\\s"'=])(${paths.join('|')})(?=$|[/\\s"',])`, 'gm'),
    (_, before: string, path: string) => before + (folders.get(path) ?? path),
  );
}

function writeVolume(volume: VolumeSpec, { manifests, folder }: PodPlace, local: (text: string) => string): void {
  const home = join(folder, 'volumes', volume.name);
  mkdirSync(home, { recursive: true });
  const sources = volume.projected?.sources ?? [];
  for (const { secretName: name, items } of [
    ...(volume.secret === undefined ? [] : [volume.secret]),
    ...sources.flatMap(({ secret }) =>
      secret === undefined ? [] : [{ secretName: secret.name, items: secret.items }],
    ),
  ]) {
    writeFiles(home, manifests.secret(name), items);
  }
  for (const { name, items } of [
    ...(volume.configMap === undefined ? [] : [volume.configMap]),
    ...sources.flatMap(({ configMap }) => (configMap === undefined ? [] : [configMap])),
  ]) {
    const texts = Object.fromEntries(
      Object.entries(manifests.configMap(name)).map(([key, text]) => [key, local(text)]),
    );
    writeFiles(home, texts, items);
  }
}

function writeFiles(
  home: string,
  texts: Readonly<Record<string, string>>,
  items: { key: string; path: string }[] | undefined,
): void {
  for (const { key, path } of items ?? Object.keys(texts).map((name) => ({ key: name, path: name }))) {
    const text = texts[key];
    if (text === undefined) throw new Error(`a volume needs the key ${key}, which does not exist`);
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text, { mode: 0o600 });
  }
}

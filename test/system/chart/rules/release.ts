import type { KubernetesDocument } from '../validate-document.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Probe {
  httpGet: { path: string; port: string };
}

export interface EnvVariable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string }; fieldRef?: { fieldPath: string } };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: EnvVariable[];
  ports?: { name: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
  resources?: { requests?: Labels; limits?: Labels };
  securityContext?: Readonly<Record<string, unknown>> & { capabilities?: { drop?: string[]; add?: string[] } };
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
}

interface KeyToPath {
  key: string;
  path: string;
}

export interface Volume {
  name: string;
  secret?: { secretName: string; items?: KeyToPath[] };
  configMap?: { name: string; items?: KeyToPath[] };
  persistentVolumeClaim?: { claimName: string };
  emptyDir?: object;
  image?: object;
  hostPath?: object;
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  imagePullSecrets?: { name: string }[];
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: Readonly<Record<string, unknown>>;
  hostNetwork?: boolean;
  hostPID?: boolean;
}

/** The pods of an object. */
export interface Pods {
  /** `Deployment svc-apiserver` */
  owner: string;
  document: KubernetesDocument;
  labels: Labels;
  spec: PodSpec;
}

export interface Selector {
  matchLabels: Labels;
}

/** helm's output for a set of values, and the objects that they list as existing. */
export interface Release {
  documents: readonly KubernetesDocument[];
  /** `Secret/name` */
  existing: ReadonlySet<string>;
}

export function titleOf({ kind, metadata }: KubernetesDocument): string {
  return `${kind} ${metadata.name}`;
}

export function ofKind(release: Release, kind: string): KubernetesDocument[] {
  return release.documents.filter((document) => document.kind === kind);
}

/** The hook of an object, which exists only then. */
export function hookOf({ metadata }: KubernetesDocument): string | undefined {
  return metadata.annotations?.['helm.sh/hook'];
}

export function podsOf({ documents }: Release): Pods[] {
  return documents.flatMap((document) => {
    const template = templateOf(document);
    return template === undefined
      ? []
      : [{ owner: titleOf(document), document, labels: template.metadata?.labels ?? {}, spec: template.spec }];
  });
}

interface Template {
  metadata?: { labels?: Labels };
  spec: PodSpec;
}

function templateOf(document: KubernetesDocument): Template | undefined {
  if (document.kind === 'Pod') return document as unknown as Template;
  if (document.kind === 'Deployment' || document.kind === 'Job')
    return (document['spec'] as { template: Template }).template;
  if (document.kind === 'CronJob')
    return (document['spec'] as { jobTemplate: { spec: { template: Template } } }).jobTemplate.spec.template;
  return undefined;
}

export function containersOf({ spec }: Pods): Container[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}

export function selects({ matchLabels }: Selector, labels: Labels): boolean {
  return Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
}

import { parseAllDocuments } from 'yaml';

/** The fields of Kubernetes objects that are read here. */
export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
}

export interface DeploymentManifest extends Manifest {
  spec: { replicas?: number; template: PodTemplate };
}

export interface PodTemplate {
  metadata: { labels?: Record<string, string> };
  spec: PodSpec;
}

export interface PodSpec {
  containers: ContainerSpec[];
  initContainers?: ContainerSpec[];
  volumes?: VolumeSpec[];
  terminationGracePeriodSeconds?: number;
}

export interface ContainerSpec {
  name: string;
  args?: string[];
  env?: EnvSpec[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  ports?: { name?: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string; subPath?: string }[];
  startupProbe?: ProbeSpec;
  readinessProbe?: ProbeSpec;
  livenessProbe?: ProbeSpec;
  lifecycle?: object;
}

export interface EnvSpec {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: KeyRef; configMapKeyRef?: KeyRef; fieldRef?: { fieldPath: string } };
}

export interface KeyRef {
  name: string;
  key: string;
}

export interface VolumeSpec {
  name: string;
  emptyDir?: object;
  secret?: { secretName: string; items?: { key: string; path: string }[]; optional?: boolean };
  configMap?: { name: string; items?: { key: string; path: string }[]; optional?: boolean };
  projected?: {
    sources: {
      secret?: { name: string; items?: { key: string; path: string }[] };
      configMap?: { name: string; items?: { key: string; path: string }[] };
    }[];
  };
}

/** Times in seconds, with Kubernetes' defaults. */
export interface ProbeSpec {
  httpGet?: { path: string; port: number | string; scheme?: string };
  initialDelaySeconds?: number;
  periodSeconds?: number;
  timeoutSeconds?: number;
  failureThreshold?: number;
  successThreshold?: number;
}

interface ServiceManifest extends Manifest {
  spec: { selector?: Record<string, string>; ports: { name?: string; port: number; targetPort?: number | string }[] };
}

interface DataManifest extends Manifest {
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

/** A service with its pods. */
export interface Service {
  name: string;
  selector: Record<string, string>;
  ports: { port: number; target: number | string }[];
}

/** The parts of a rendered chart that are needed to run it. */
export class Manifests {
  readonly #all: readonly Manifest[];

  /** `text`: YAML documents. */
  constructor(text: string) {
    this.#all = parseAllDocuments(text)
      .map((document) => {
        if (document.errors[0] !== undefined) throw document.errors[0];
        return document.toJS() as Manifest | null;
      })
      .filter((manifest) => manifest !== null);
  }

  get deployments(): DeploymentManifest[] {
    return this.#all.filter(({ kind }) => kind === 'Deployment') as DeploymentManifest[];
  }

  deployment(name: string): DeploymentManifest {
    const found = this.deployments.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`the chart has no Deployment ${name}`);
    return found;
  }

  /** Services whose pods are in the chart. */
  get services(): Service[] {
    return (this.#all.filter(({ kind }) => kind === 'Service') as ServiceManifest[]).map(({ metadata, spec }) => ({
      name: metadata.name,
      selector: spec.selector ?? {},
      ports: spec.ports.map(({ port, targetPort }) => ({ port, target: targetPort ?? port })),
    }));
  }

  /** A Secret's keys and values as a pod sees them. Throws if it is missing. */
  secret(name: string): Record<string, string> {
    const { data = {}, stringData = {} } = this.#find('Secret', name);
    return {
      ...Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()])),
      ...stringData,
    };
  }

  /** The same for a ConfigMap. */
  configMap(name: string): Record<string, string> {
    return this.#find('ConfigMap', name).data ?? {};
  }

  #find(kind: string, name: string): DataManifest {
    const found = this.#all.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
    if (found === undefined)
      throw new Error(`the chart refers to ${kind} ${name}, which it does not create: set its values in the chart`);
    return found;
  }
}

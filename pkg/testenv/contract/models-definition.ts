import { randomBytes } from 'node:crypto';
import type { TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, type ApiResponse, type ApiBody } from './api-call.ts';

export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface DefinitionOptions {
  /** Default: a new one for each call, so that tests can share a server. */
  group?: string;
  kind?: string;
  plural?: string;
  scope?: 'Cluster' | 'Namespaced';
  /** Schema of `spec` in the only version `v1`. Default: anything. */
  spec?: Schema;
  /** Schema of the whole object, instead of `spec`. */
  schema?: Schema;
  /** Further fields of the only version: subresources, indexes, selectableFields. */
  definitionVersion?: Record<string, unknown>;
  /** Replaces the only version. */
  versions?: Record<string, unknown>[];
  names?: Record<string, unknown>;
}

export type Schema = Record<string, unknown>;

export interface Definition {
  apiVersion: string;
  kind: string;
  metadata: { name: string; [field: string]: unknown };
  spec: {
    group: string;
    scope: string;
    names: Record<string, unknown>;
    versions: Record<string, unknown>[];
    [field: string]: unknown;
  };
}

export const anySpec: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
export const statusAndScale = {
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
};

/** A group that no other test uses. */
export function newGroup(): string {
  return `t${randomBytes(5).toString('hex')}.example.com`;
}

export function newDefinition(options: DefinitionOptions = {}): Definition {
  const {
    group = newGroup(),
    kind = 'Post',
    plural = `${kind.toLowerCase()}s`,
    scope = 'Cluster',
    spec = anySpec,
  } = options;
  const schema = options.schema ?? schemaWithSpec(spec);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), ...options.names },
      versions: options.versions ?? [version('v1', schema, options.definitionVersion)],
    },
  };
}

/** A schema with this `spec`, and a `status` of any fields. */
export function schemaWithSpec(spec: Schema): Schema {
  return { type: 'object', properties: { spec, status: anySpec } };
}

export function version(name: string, schema: Schema, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { name, served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more };
}

/** A registered model with its paths. */
export interface Registered {
  definition: Definition;
  group: string;
  apiVersion: string;
  kind: string;
  /** `/apis/GROUP/VERSION/PLURAL` of the first version. */
  path: string;
  inNamespace(namespace: string): string;
  /** An object of the model. */
  object(name: string, spec?: Record<string, unknown>, more?: Record<string, unknown>): Record<string, unknown>;
}

/** Creates a definition and waits until every server serves it. */
export async function register(env: TestEnv, given: DefinitionOptions | Definition = {}): Promise<Registered> {
  const posted = 'apiVersion' in given ? given : newDefinition(given);
  const answer = await call(env, definitionsPath, { method: 'POST', body: posted });
  if (answer.status !== 201) throw new Error(`definition refused: ${answer.status} ${answer.text}`);
  const { group, names, versions } = posted.spec;
  const [first] = versions;
  const registered = addresses(posted, group, String(first!['name']), String(names['plural']));
  await served(env, registered.path);
  return registered;
}

function addresses(posted: Definition, group: string, versionName: string, plural: string): Registered {
  const base = `/apis/${group}/${versionName}`;
  const kind = String(posted.spec.names['kind']);
  const apiVersion = `${group}/${versionName}`;
  return {
    definition: posted,
    group,
    apiVersion,
    kind,
    path: `${base}/${plural}`,
    inNamespace: (namespace) => `${base}/namespaces/${namespace}/${plural}`,
    object: (name, spec = {}, more = {}) => ({ apiVersion, kind, metadata: { name }, spec, ...more }),
  };
}

/** Waits until every server serves the collection. */
export async function served(env: TestEnv, path: string): Promise<void> {
  await onEveryServer(env, path, 200);
}

export async function onEveryServer(env: TestEnv, path: string, status: number): Promise<void> {
  await Promise.all(
    env.servers.map((_, server) =>
      retryUntilPasses(async () => {
        const answer = await call(env, path, { server });
        if (answer.status !== status)
          throw new Error(`server ${server}: ${path} is ${answer.status}, not ${status}: ${answer.text}`);
      }),
    ),
  );
}

/** Reads, changes and writes the definition; retries conflicts. */
export async function changeDefinition(
  env: TestEnv,
  name: string,
  change: (definition: Definition) => void,
): Promise<ApiResponse> {
  return retryUntilPasses(async () => {
    const current = (await call(env, `${definitionsPath}/${name}`)).body as unknown as Definition;
    change(current);
    const answer = await call(env, `${definitionsPath}/${name}`, { method: 'PUT', body: current });
    if (answer.status === 409) throw new Error('conflict');
    return answer;
  });
}

export interface WireCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

export async function conditionsOf(env: TestEnv, name: string): Promise<Record<string, WireCondition>> {
  const { body } = await call(env, `${definitionsPath}/${name}`);
  const { conditions = [] } = (body.status ?? {}) as { conditions?: WireCondition[] };
  return Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
}

export async function createOrThrow(env: TestEnv, path: string, body: unknown): Promise<ApiBody> {
  const answer = await call(env, path, { method: 'POST', body });
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

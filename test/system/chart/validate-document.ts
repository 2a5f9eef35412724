import { createRequire } from 'node:module';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { ReadTracker } from './read-tracker.ts';

/** An object of Kubernetes' API, parsed from YAML. */
export interface KubernetesDocument {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

type Validate = (document: KubernetesDocument) => string[];

const require = createRequire(import.meta.url);
const validators = new Map<string, Validate | undefined>();

/** Packages with validators for API groups that are not Kubernetes' own. */
const packages: Readonly<Record<string, string>> = {
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

/** Definition files next to the repository, for kinds without such a package. */
const definitionFiles: Readonly<Record<string, string>> = {
  'cert-manager.io/v1 Certificate': '../../../../shared/data/cert-manager/crds/cert-manager.io_certificates.yaml',
};

/**
 * The errors for which Kubernetes would refuse a document; empty if it is valid. Unknown fields are errors too. Throws
 * for a kind without a schema here.
 */
export function problemsOf(document: KubernetesDocument): string[] {
  const type = `${document.apiVersion} ${document.kind}`;
  if (!validators.has(type)) validators.set(type, validatorOf(document));
  const validate = validators.get(type);
  if (validate === undefined) throw new Error(`there is no schema of ${type}`);
  return validate(document);
}

/** Whether the schema of a kind is available: some definition files are next to the repository. */
export function hasSchemaOf({ apiVersion, kind }: KubernetesDocument): boolean {
  const file = definitionFiles[`${apiVersion} ${kind}`];
  return file === undefined || existsSync(new URL(file, import.meta.url));
}

function validatorOf({ apiVersion, kind }: KubernetesDocument): Validate | undefined {
  const file = definitionFiles[`${apiVersion} ${kind}`];
  if (file !== undefined) return validatorOfDefinition(fileURLToPath(new URL(file, import.meta.url)), apiVersion);
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : '';
  const models = require(`${packages[group] ?? 'kubernetes-models'}/${apiVersion}`) as Record<
    string,
    { prototype: { validate(): void } } | undefined
  >;
  const model = models[kind];
  if (model === undefined) return undefined;
  return (document) =>
    unknownOr(
      document,
      (watched) => {
        try {
          // `watched` replaces an instance, because the model's own constructor would copy it.
          model.prototype.validate.call(watched);
          return [];
        } catch (error) {
          return [(error as Error).message];
        }
      },
      model.prototype,
    );
}

function validatorOfDefinition(file: string, apiVersion: string): Validate {
  const { spec } = parse(readFileSync(file, 'utf8')) as {
    spec: { versions: { name: string; schema: { openAPIV3Schema: { properties: object } } }[] };
  };
  const { schema } = spec.versions.find(({ name }) => apiVersion.endsWith(`/${name}`))!;
  // A definition does not describe metadata, which Kubernetes does.
  const text = { type: 'string' };
  const texts = { type: 'object', additionalProperties: text };
  const metadata = {
    type: 'object',
    required: ['name'],
    properties: { name: text, namespace: text, labels: texts, annotations: texts },
  };
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });
  const validate = ajv.compile({
    ...schema.openAPIV3Schema,
    properties: { ...schema.openAPIV3Schema.properties, metadata },
  });
  return (document) =>
    unknownOr(document, (watched) =>
      validate(watched) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`),
    );
}

/**
 * The compiled validators accept unknown fields and do not list the known ones. But they read each known field: a field
 * that was not read is unknown.
 */
function unknownOr(
  document: KubernetesDocument,
  validate: (watched: object) => string[],
  prototype: object = Object.prototype,
): string[] {
  const tracker = new ReadTracker(document, prototype);
  const problems = validate(tracker.proxy);
  return [...problems, ...tracker.unread().map((path) => `${path} is no known field`)];
}

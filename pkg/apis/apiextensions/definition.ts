import type {
  ApiObject,
  Condition,
  IndexType,
  JsonSchema,
  JsonObject,
  PrinterColumn,
  ScaleSubresource,
  Scope,
} from '#pkg/apimachinery/index';

export const definitionGroup = 'apiextensions.k8s.io';
export const definitionKind = 'CustomResourceDefinition';

/** A model declared through the API. Source: apiextensions.k8s.io/v1; `indexes` and `indexKeys` are ours. */
export interface CustomResourceDefinition extends ApiObject<DefinitionSpec, DefinitionStatus> {
  spec: DefinitionSpec;
}

export interface DefinitionSpec {
  group: string;
  names: DefinitionNames;
  scope: Scope;
  versions: DefinitionVersion[];
  conversion?: DefinitionConversion;
  /** Only false is accepted: the schema itself declares where unknown fields are kept. */
  preserveUnknownFields?: boolean;
}

export interface DefinitionNames {
  plural: string;
  kind: string;
  /** Default: the kind in lower case. */
  singular?: string;
  /** Default: `<kind>List`. */
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  /** True for exactly one version. */
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: JsonSchema };
  subresources?: { status?: JsonObject; scale?: ScaleSubresource };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: SelectableField[];
  indexes?: DeclaredIndex[];
  /**
   * Source text that defines a global `indexKeys`, whose members are the functions that indexes name as `key`; equal in
   * all versions that have one.
   */
  indexKeys?: string;
}

export interface SelectableField {
  /** `.spec.issuerRef.name` */
  jsonPath: string;
}

/** An index in a definition; for the fields see IndexDefinition. */
export interface DeclaredIndex {
  name: string;
  /** Either this or `key`. */
  path?: string;
  /** The function that computes the keys, as `indexKeys` exports it. */
  key?: string;
  type: IndexType;
  /** Default: whether the path contains `[*]`; for a computed key false. */
  multi?: boolean;
  /** Default false. */
  unique?: boolean;
  /** Default true. */
  nullable?: boolean;
}

/** `None`: a conversion changes nothing but apiVersion. `Webhook`: a server of the definition's author converts. */
export interface DefinitionConversion {
  strategy: string;
  webhook?: DefinitionWebhook;
}

export interface DefinitionWebhook {
  /** Where the webhook is: either `url` or `service`. */
  clientConfig?: {
    url?: string;
    service?: WebhookService;
    /** Base64 of PEM certificates. Default: the authorities that Node.js trusts. */
    caBundle?: string;
  };
  conversionReviewVersions: string[];
}

/** A Service of Kubernetes: `https://<name>.<namespace>.svc:<port><path>`. */
export interface WebhookService {
  name: string;
  namespace: string;
  path?: string;
  /** Default 443. */
  port?: number;
}

export interface DefinitionStatus {
  conditions?: Condition[];
  /** The names that are served, without names that another owner had first. */
  acceptedNames?: Partial<DefinitionNames>;
  /** Every version that was ever the storage version. */
  storedVersions?: string[];
}

/** Whether the definition was ever served. It stays so, even if its later names are refused. */
export function isEstablished(definition: CustomResourceDefinition): boolean {
  return (
    definition.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
  );
}

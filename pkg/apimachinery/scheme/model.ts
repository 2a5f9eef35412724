import type { GroupResource } from '../schema/group-version.ts';
import type { ListMergeKeys } from '../patch/strategic-merge-patch.ts';
import type { IndexDefinition } from './index-definition.ts';
import type { JsonSchema } from './json-schema.ts';

export type Scope = 'Cluster' | 'Namespaced';

export interface ModelNames {
  /** Lower case; the resource in URLs. */
  plural: string;
  /** Lowercase. */
  singular: string;
  kind: string;
  /** Default `<kind>List`. */
  listKind: string;
  shortNames: string[];
  categories: string[];
}

export interface PrinterColumn {
  name: string;
  type: 'integer' | 'number' | 'string' | 'boolean' | 'date';
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

export interface ScaleSubresource {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

/** One version of a model. Every version is stored in the storage version's form. */
export interface ModelVersion {
  name: string;
  served: boolean;
  deprecated: boolean;
  /** The warning in answers of a deprecated version; default: a standard text. */
  deprecationWarning?: string;
  schema: JsonSchema;
  subresources: { status: boolean; scale?: ScaleSubresource };
  printerColumns: PrinterColumn[];
  /** JSON paths of selectable fields; each is also an index of the model. */
  selectableFields: string[];
}

/** The rule for object names: a model's rule, or the standard of a built-in kind. */
export type NameRule = 'model' | 'dns-label' | 'dns-subdomain' | 'path-segment';

/** The webhook that converts the objects of a model between its versions. */
export interface WebhookConversion {
  /** https. */
  url: string;
  /** As in the definition: base64 of PEM certificates. Absent: the authorities that Node.js trusts. */
  caBundle?: string;
}

/** A resource type as data, however it was declared. The registry, the storage and the documents use it. */
export interface Model {
  group: string;
  names: ModelNames;
  scope: Scope;
  /** In order of preference for clients: the newest stable version first. */
  versions: ModelVersion[];
  /** Name of the version in which objects are stored; one of `versions`. */
  storageVersion: string;
  indexes: IndexDefinition[];
  /** Absent: a conversion between versions changes nothing but apiVersion. */
  conversion?: WebhookConversion;
  /** Source text that defines a global `indexKeys` with the functions of computed indexes; set if there are any. */
  keyScript?: string;
  nameRule: NameRule;
  /**
   * The lists that a strategic merge patch merges. Absent for a kind that refuses such patches, as every custom one does:
   * clients rely on the 415.
   */
  listMergeKeys?: ListMergeKeys;
  /** Top-level fields of a confidential kind: they are stored sealed, and so are the annotations. */
  sealedFields?: readonly string[];
}

/** Whether it is a kind of Kubernetes' own, for which clients have types and rely on more of its rules. */
export function hasTypedClients({ listMergeKeys }: Model): boolean {
  return listMergeKeys !== undefined;
}

/** The name under which a model is registered and stored. */
export function groupResource(model: Model): GroupResource {
  return { group: model.group, resource: model.names.plural };
}

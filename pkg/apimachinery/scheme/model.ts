import type { GroupResource } from '../schema/group-version.ts';
import type { IndexDefinition } from './index-definition.ts';
import type { JsonSchema } from './json-schema.ts';

export type Scope = 'Cluster' | 'Namespaced';

export interface ModelNames {
  /** Lowercase; the resource in URLs. */
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

/** One version of a model. Every version is stored in the storage version's form (conversion strategy None). */
export interface ModelVersion {
  name: string;
  served: boolean;
  deprecated: boolean;
  /** Text of the warning a deprecated version answers with; a standard one when absent. */
  deprecationWarning?: string;
  schema: JsonSchema;
  subresources: { status: boolean; scale?: ScaleSubresource };
  printerColumns: PrinterColumn[];
  /** JSON paths published as selectable; each is an index of the model too. */
  selectableFields: string[];
}

/** How an object's name must look: a model's rule, or the standard of a built-in kind. */
export type NameRule = 'model' | 'dns-label' | 'dns-subdomain' | 'path-segment';

/** A resource type as data, however it was declared: what the registry, the storage and the documents work from. */
export interface Model {
  group: string;
  names: ModelNames;
  scope: Scope;
  /** In order of preference for clients: the newest stable one first. */
  versions: ModelVersion[];
  /** Name of the version objects are stored in; one of `versions`. */
  storageVersion: string;
  indexes: IndexDefinition[];
  /** Source text that defines a global `indexKeys` with the functions of computed indexes; there where one is. */
  keyScript?: string;
  nameRule: NameRule;
}

/** The name a model is registered, stored and spoken of under. */
export function groupResource(model: Model): GroupResource {
  return { group: model.group, resource: model.names.plural };
}

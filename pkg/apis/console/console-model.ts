import { metadataMergeKeys, type JsonSchema, type Model, type PrinterColumn } from '#pkg/apimachinery/index';

export interface ConsoleModelParts {
  names: Pick<Model['names'], 'plural' | 'singular' | 'kind'>;
  spec: JsonSchema;
  /** Before the age. */
  columns: readonly PrinterColumn[];
  /** Required texts of the spec that lists select by; the first is selectable in Kubernetes' way, too. */
  indexed: readonly [string, ...string[]];
}

/** A model of what the console reads beside the objects of others: for all namespaces, with a spec and no status. */
export function newConsoleModel({ names, spec, columns, indexed }: ConsoleModelParts): Model {
  return {
    group: 'console.svc.run',
    names: { ...names, listKind: `${names.kind}List`, shortNames: [], categories: [] },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        deprecated: false,
        schema: {
          type: 'object',
          required: ['spec'],
          properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec },
        },
        subresources: { status: false },
        printerColumns: [...columns, { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
        selectableFields: [`.spec.${indexed[0]}`],
      },
    ],
    storageVersion: 'v1alpha1',
    indexes: indexed.map((field) => ({
      name: `spec.${field}`,
      path: `spec.${field}`,
      type: 'string',
      multi: false,
      unique: false,
      nullable: true,
    })),
    nameRule: 'dns-subdomain',
    listMergeKeys: metadataMergeKeys,
  };
}

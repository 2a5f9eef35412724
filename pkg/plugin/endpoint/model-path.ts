/** The models that this API server serves, as its registry knows them. */
export interface ServedModels {
  find(group: string, version: string, resource: string): object | undefined;
  /** Increases with every change of the served models. */
  readonly generation: number;
}

/**
 * Whether a decoded path below `/apis/<group>/<version>` is the path of a model's objects, cluster-wide or in one
 * namespace. A template is treated as a literal path.
 */
export function isModelPath(models: ServedModels, path: string): boolean {
  const [, , group = '', version = '', resource = '', , namespaced = ''] = path.split('/', 7);
  return (
    models.find(group, version, resource) !== undefined ||
    (resource === 'namespaces' && models.find(group, version, namespaced) !== undefined)
  );
}

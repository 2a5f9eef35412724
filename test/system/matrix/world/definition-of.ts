import { modelGroup } from './random-roles.ts';

/** A definition of `modelGroup` with a status. */
export function definitionOf({
  kind,
  plural,
  scope,
}: {
  kind: string;
  plural: string;
  scope: 'Cluster' | 'Namespaced';
}): object {
  const part = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: part, status: part } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${modelGroup}` },
    spec: {
      group: modelGroup,
      scope,
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

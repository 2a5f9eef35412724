import { fieldElement } from '../fieldpath/path-element.ts';
import {
  atomicNode,
  type NamedField,
  newListNode,
  newMapNode,
  newMapType,
  newScalarNode,
  type TypeNode,
} from './type-node.ts';

const text = newScalarNode('string');
const time = newScalarNode('untyped');
const integer = newScalarNode('numeric');
const texts = newMapNode(newMapType(new Map(), { isAtomic: false, other: text }));

export function namedFieldsOf(nodes: Readonly<Record<string, TypeNode>>): Map<string, NamedField> {
  return new Map(
    Object.entries(nodes).map(([name, node]) => [name, { element: fieldElement(name), node, default: undefined }]),
  );
}

export function newStructNode(nodes: Readonly<Record<string, TypeNode>>, isAtomic = false): TypeNode {
  return newMapNode(newMapType(namedFieldsOf(nodes), { isAtomic, other: undefined }));
}

const ownerReference = newStructNode(
  {
    apiVersion: text,
    kind: text,
    name: text,
    uid: text,
    controller: newScalarNode('boolean'),
    blockOwnerDeletion: newScalarNode('boolean'),
  },
  true,
);

/** The types of an object's metadata. Source: `metav1.ObjectMeta`. */
export const objectMetaNode = newStructNode({
  name: text,
  generateName: text,
  namespace: text,
  selfLink: text,
  uid: text,
  resourceVersion: text,
  generation: integer,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  labels: texts,
  annotations: texts,
  finalizers: newListNode({ isAtomic: false, keys: [], item: text }),
  ownerReferences: newListNode({ isAtomic: false, keys: ['uid'], item: ownerReference }),
  managedFields: newListNode({ isAtomic: true, keys: [], item: atomicNode }),
});

export const typeMetaNodes = { apiVersion: text, kind: text };

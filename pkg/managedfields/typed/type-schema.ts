import type { JsonSchema } from '#pkg/apimachinery/index';
import { fieldElement } from '../fieldpath/path-element.ts';
import { namedFieldsOf, objectMetaNode, typeMetaNodes } from './object-meta-node.ts';
import {
  atomicNode,
  deducedNode,
  type NamedField,
  type ListType,
  type MapType,
  newListNode,
  newMapNode,
  newMapType,
  newMixedNode,
  newScalarNode,
  type ScalarType,
  type TypeNode,
} from './type-node.ts';

/** The field types of one version of a model: what is a leaf, what is merged by which keys. */
export interface TypeSchema {
  /** The type of a whole object. */
  readonly root: TypeNode;
}

/**
 * Computes the field types of a version once, from its structural schema. Without one, they are deduced from each
 * value: maps are merged, lists are replaced.
 */
export function newTypeSchema(schema: JsonSchema | undefined): TypeSchema {
  if (schema === undefined) return { root: deducedNode };
  return { root: newMapNode(mapType(schema, isOpen(schema), { ...typeMetaNodes, metadata: objectMetaNode })) };
}

/** Fields that are not named are kept below `x-kubernetes-preserve-unknown-fields`, on all levels. */
function isOpen(schema: JsonSchema, isParentOpen = false): boolean {
  return isParentOpen || schema['x-kubernetes-preserve-unknown-fields'] === true;
}

function nodeOf(schema: JsonSchema, isParentOpen: boolean): TypeNode {
  const open = isOpen(schema, isParentOpen);
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const meta = embedded ? { ...typeMetaNodes, metadata: objectMetaNode } : {};
  switch (schema.type) {
    case undefined:
      return newMixedNode(listType(schema, open), mapType(schema, open, meta));
    case 'object':
      return newMapNode(mapType(schema, open, meta));
    case 'array':
      return newListNode(listType(schema, open));
    default:
      return newScalarNode(scalarType(schema));
  }
}

function scalarType({ type, format = '' }: JsonSchema): ScalarType {
  if (type === 'integer' || type === 'number') return 'numeric';
  if (type === 'boolean') return 'boolean';
  // Another format may be written as a number: quantities, int-or-string.
  return format === '' || format === 'byte' ? 'string' : 'untyped';
}

function listType(schema: JsonSchema, open: boolean): ListType {
  const relation = schema['x-kubernetes-list-type'];
  return {
    isAtomic: relation !== 'set' && relation !== 'map',
    keys: relation === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : [],
    item: schema.items === undefined ? atomicNode : nodeOf(schema.items, open),
  };
}

function mapType(schema: JsonSchema, open: boolean, meta: Readonly<Record<string, TypeNode>>): MapType {
  const fields = new Map<string, NamedField>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (Object.hasOwn(meta, name)) continue;
    fields.set(name, { element: fieldElement(name), node: nodeOf(property, open), default: property.default });
  }
  for (const [name, field] of namedFieldsOf(meta)) fields.set(name, field);
  return newMapType(fields, {
    isAtomic: schema['x-kubernetes-map-type'] === 'atomic',
    other: otherNode(schema, open, fields.size > 0),
  });
}

/** The type of the keys that are not named. */
function otherNode({ additionalProperties }: JsonSchema, open: boolean, hasFields: boolean): TypeNode | undefined {
  if (additionalProperties === undefined) return open || !hasFields ? deducedNode : undefined;
  if (typeof additionalProperties === 'boolean') return additionalProperties ? deducedNode : undefined;
  return nodeOf(additionalProperties, open);
}

/** Which values a scalar may have; `untyped`: any. */
export type ScalarType = 'numeric' | 'string' | 'boolean' | 'untyped';

/** A list: `isAtomic` is one leaf, with `keys` its items are found by these fields, without keys by their value. */
export interface ListType {
  isAtomic: boolean;
  keys: readonly string[];
  item: TypeNode;
}

/** The element of a field's path, its type, and its default. */
export interface NamedField {
  element: string;
  node: TypeNode;
  default: unknown;
}

/** A map: the named fields, and the type of all other keys; without one there are no others. */
export interface MapType {
  isAtomic: boolean;
  fields: ReadonlyMap<string, NamedField>;
  /** The fields by the element of their path. */
  byElement: ReadonlyMap<string, NamedField>;
  other: TypeNode | undefined;
}

export type ValueKind = 'scalar' | 'list' | 'map';

/** A node of a version's type graph: one kind of value, or any. An `any` node has the types of all three kinds. */
export interface TypeNode {
  kind: ValueKind | 'any';
  scalar: ScalarType;
  list: ListType;
  map: MapType;
}

const noFields: ReadonlyMap<string, NamedField> = new Map();

/** Any value, and nobody owns a part of it. */
export const atomicNode = newAnyNode();
atomicNode.map = newMapType(noFields, { isAtomic: true, other: atomicNode });
/** Any value: maps are granular down to their leaves, lists are leaves. */
export const deducedNode = newAnyNode();
deducedNode.map = newMapType(noFields, { isAtomic: false, other: deducedNode });

export function newMapType(
  fields: ReadonlyMap<string, NamedField>,
  { isAtomic, other }: Pick<MapType, 'isAtomic' | 'other'>,
): MapType {
  const byElement = new Map([...fields.values()].map((field) => [field.element, field]));
  return { isAtomic, fields, byElement, other };
}

export function newScalarNode(scalar: ScalarType): TypeNode {
  return { ...noTypes(), kind: 'scalar', scalar };
}

export function newListNode(list: ListType): TypeNode {
  return { ...noTypes(), kind: 'list', list };
}

export function newMapNode(map: MapType): TypeNode {
  return { ...noTypes(), kind: 'map', map };
}

/** A value without a type in its schema. */
export function newMixedNode(list: ListType, map: MapType): TypeNode {
  return { kind: 'any', scalar: 'untyped', list, map };
}

/** What is found below atomic nodes has no type of its own; all nodes have the same members, for speed. */
function noTypes(): Omit<TypeNode, 'kind'> {
  return { scalar: 'untyped', list: atomicNode.list, map: atomicNode.map };
}

function newAnyNode(): TypeNode {
  const node = { kind: 'any', scalar: 'untyped' } as TypeNode;
  node.list = { isAtomic: true, keys: [], item: node };
  return node;
}

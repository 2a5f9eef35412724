import type { SlicedWork } from '#pkg/apimachinery/index';
import { addingSelf, copyingSet, type FieldSet, selfKey } from '../fieldpath/field-set.ts';
import { isSliceEnd } from '../fieldpath/slice-end.ts';
import type { MapType, TypeNode } from './type-node.ts';
import { nodeAtElement } from './typed-value.ts';

/** The set with the named fields above its members as members, too. Keys of maps are not named fields. */
export function* addingNamedFields(node: TypeNode | undefined, set: FieldSet): SlicedWork<FieldSet> {
  let result = set;
  for (const element in set) {
    if (isSliceEnd()) yield;
    if (element === selfKey) continue;
    const below = set[element]!;
    if (isLeaf(below)) continue;
    let added = yield* addingNamedFields(nodeBelow(node, element), below);
    if (isNamedField(node, element)) added = yield* addingSelf(added);
    if (added === below) continue;
    if (result === set) result = yield* copyingSet(set);
    result[element] = added;
  }
  return result;
}

function isLeaf(set: FieldSet): boolean {
  for (const element in set) if (element !== selfKey) return false;
  return true;
}

function isNamedField(node: TypeNode | undefined, element: string): boolean {
  return mapOf(node)?.byElement.has(element) === true;
}

/** The type of what is below an element, whatever the values are; undefined if the schema does not say. */
function nodeBelow(node: TypeNode | undefined, element: string): TypeNode | undefined {
  if (element.startsWith('f:')) {
    const map = mapOf(node);
    return map === undefined ? undefined : nodeAtElement(map, element);
  }
  return element.startsWith('k:') && node !== undefined && (node.kind === 'list' || node.kind === 'any')
    ? node.list.item
    : undefined;
}

function mapOf(node: TypeNode | undefined): MapType | undefined {
  return node !== undefined && (node.kind === 'map' || node.kind === 'any') ? node.map : undefined;
}

import { copySet, type FieldSet, isMember, leaf, selfKey } from '../fieldpath/field-set.ts';
import { deducedNode, atomicNode, type MapType, type TypeNode } from './type-node.ts';
import { nodeAtElement } from './typed-value.ts';

/**
 * A set that was written when the schema was another: what is below a list or map that is atomic now is replaced by the
 * list or map itself. The other way, from atomic to granular, nothing is done. Returns the set itself if it fits.
 */
export function reconcileFieldSet(node: TypeNode, set: FieldSet): FieldSet {
  if (node.kind === 'list') return reconcileLevel(set, () => node.list.item);
  if (node.kind === 'scalar' || isDeduced(node.map)) return set;
  return reconcileLevel(set, (element) => nodeAtElement(node.map, element));
}

function reconcileLevel(set: FieldSet, nodeAt: (element: string) => TypeNode | undefined): FieldSet {
  let result = set;
  for (const element in set) {
    if (element === selfKey) continue;
    const node = nodeAt(element);
    if (node === undefined) continue;
    const below = set[element]!;
    const reconciled = reconcileValue(node, below);
    if (reconciled === below) continue;
    if (result === set) result = copySet(set);
    result[element] = reconciled;
  }
  return result;
}

/** The value of an element of a set, whose type is known now. */
function reconcileValue(node: TypeNode, value: FieldSet): FieldSet {
  const isAtomic =
    node.kind === 'list' ? node.list.isAtomic : node.kind !== 'scalar' && !isDeduced(node.map) && node.map.isAtomic;
  if (!isAtomic) return reconcileFieldSet(node, value);
  for (const element in value) if (element !== selfKey) return leaf;
  return isMember(value) ? value : leaf;
}

/** A free-form map cannot say that it is atomic. Scalars of any type below it count as free-form, too. */
function isDeduced({ fields, other }: MapType): boolean {
  if (fields.size > 0 || other === undefined || other === atomicNode) return false;
  return other === deducedNode || other.kind === 'any' || (other.kind === 'scalar' && other.scalar === 'untyped');
}

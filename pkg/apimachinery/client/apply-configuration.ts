import type { ObjectMeta } from '../meta/object.ts';
import type { AnyObject } from './resource-type.ts';

/**
 * The fields that a manager wants an object to have, and no others: what it applied before and leaves out now, it gives
 * up. Not an object that was read: its fields would all belong to the manager then.
 */
export type ApplyConfiguration<T extends AnyObject = AnyObject> = Pick<T, 'apiVersion' | 'kind'> & {
  metadata: ApplyMetadata;
} & { [Field in Exclude<keyof T, 'apiVersion' | 'kind' | 'metadata'>]?: Partially<T[Field]> };

/** With `uid`, the object must exist and have it; with `resourceVersion`, this must be its newest one. */
export type ApplyMetadata = Pick<
  ObjectMeta,
  'name' | 'namespace' | 'labels' | 'annotations' | 'finalizers' | 'ownerReferences' | 'uid' | 'resourceVersion'
>;

/** A value without some of its fields, at any depth; in lists too, because a list with keys is merged item by item. */
type Partially<Value> = Value extends readonly (infer Item)[]
  ? Partially<Item>[]
  : Value extends object
    ? { [Field in keyof Value]?: Partially<Value[Field]> }
    : Value;

import type { JsonObject } from '#pkg/apimachinery/index';
import type { FieldSet } from '../fieldpath/field-set.ts';
import type { TypeNode } from '../typed/type-node.ts';

/** What one manager owns, in one way: by applying, or by other writes. */
export interface ManagerState {
  name: string;
  isApplied: boolean;
  /** The version in whose schema the set is written. */
  apiVersion: string;
  subresource: string;
  /** RFC 3339; when the set last changed. */
  time: string | undefined;
  set: FieldSet;
  /** The set as it was read, which is sorted; another one is not. */
  sortedSet?: FieldSet;
}

/** By the key of `managerKey`. */
export type Managers = Map<string, ManagerState>;

export type ManagerId = Pick<ManagerState, 'name' | 'isApplied' | 'apiVersion' | 'subresource'>;

/** Equal for states that are one entry. An applier stays one, whatever versions it uses. */
export function managerKey({ name, isApplied, apiVersion, subresource }: ManagerId): string {
  return isApplied ? `a\n${name}\n${subresource}` : `u\n${name}\n${apiVersion}\n${subresource}`;
}

/** The types of each served version; undefined for one that is not served. */
export type NodeOfVersion = (apiVersion: string) => TypeNode | undefined;

/** Leaves out what a request does not change. */
export type SetFilter = (set: FieldSet) => FieldSet;

/** The object in another version. @throws ConversionNeeded if it has to be converted first */
export type ConvertObject = (object: JsonObject, apiVersion: string) => JsonObject;

/** All versions have the same fields, but for `apiVersion`. */
export const sameFields: ConvertObject = (object) => object;

/** Thrown by `ConvertObject`: the caller has the object converted, and then calls again. */
export class ConversionNeeded extends Error {
  readonly object: JsonObject;
  readonly apiVersion: string;

  constructor(object: JsonObject, apiVersion: string) {
    super(`an object has to be converted to ${apiVersion}`);
    this.name = 'ConversionNeeded';
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

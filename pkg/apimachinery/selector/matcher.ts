import type { ApiObject } from '../meta/object.ts';
import type { ComputedKeys, IndexDefinition, IndexKey, IndexValue } from '../scheme/index-definition.ts';
import { extractIndexKey } from '../scheme/index-key.ts';
import { compareIndexValues } from './compare.ts';
import type { FieldRequirement, FieldSelector, LabelRequirement, LabelSelector, Selector } from './requirement.ts';

type Labels = Readonly<Record<string, string>> | undefined;

/** Whether the selector matches an object with these labels. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  return selector.every((requirement) => compileLabelRequirement(requirement)(labels));
}

/** Whether the selector matches an object with these index keys. */
export function matchesFields(selector: FieldSelector, keyOf: (index: IndexDefinition) => IndexKey): boolean {
  return selector.every((requirement) => compileFieldRequirement(requirement)(keyOf(requirement.index)));
}

/**
 * The selector as one predicate, for many objects: a watch compiles it once and calls it per event. It agrees with the
 * SQL that the storage generates from the same selector. A value that its index cannot contain counts as absent. The
 * predicate also takes the object's computed keys, and throws KeyNotComputed if the selector needs one that is missing.
 */
export function compileSelector(selector: Selector): (object: ApiObject, computed?: ComputedKeys) => boolean {
  const labels = selector.labels.map(compileLabelRequirement);
  const fields = selector.fields.map((requirement) => ({
    index: requirement.index,
    matches: compileFieldRequirement(requirement),
  }));
  return (object, computed) =>
    labels.every((matches) => matches(object.metadata.labels)) &&
    fields.every(({ index, matches }) => matches(extractIndexKey(index, object, computed)));
}

function compileLabelRequirement(requirement: LabelRequirement): (labels: Labels) => boolean {
  const { key } = requirement;
  // Own properties only: otherwise every object would have a label named `constructor`.
  const has = (labels: Labels): labels is Readonly<Record<string, string>> =>
    labels !== undefined && Object.hasOwn(labels, key);
  switch (requirement.operator) {
    case 'Exists':
      return has;
    case 'DoesNotExist':
      return (labels) => !has(labels);
    case 'In': {
      const values = new Set<string | undefined>(requirement.values);
      return (labels) => has(labels) && values.has(labels[key]);
    }
    default: {
      const values = new Set<string | undefined>(requirement.values);
      return (labels) => !has(labels) || !values.has(labels[key]);
    }
  }
}

function compileFieldRequirement(requirement: FieldRequirement): (key: IndexKey) => boolean {
  switch (requirement.operator) {
    case 'Exists':
      return isPresent;
    case 'DoesNotExist':
      return (key) => !isPresent(key);
    case 'In':
      return containsAny(requirement.values);
    case 'NotIn': {
      const contains = containsAny(requirement.values);
      return (key) => !contains(key);
    }
    case 'Prefix':
      return (key) => typeof key === 'string' && key.startsWith(requirement.value);
    case 'GreaterThan':
      return ordered(requirement.value, (order) => order > 0);
    case 'GreaterOrEqual':
      return ordered(requirement.value, (order) => order >= 0);
    case 'LessThan':
      return ordered(requirement.value, (order) => order < 0);
    default:
      return ordered(requirement.value, (order) => order <= 0);
  }
}

function isPresent(key: IndexKey): boolean {
  return Array.isArray(key) ? key.length > 0 : key !== null;
}

function containsAny(wanted: readonly IndexValue[]): (key: IndexKey) => boolean {
  const values = new Set<IndexValue | null>(wanted);
  return (key) => (Array.isArray(key) ? key.some((value) => values.has(value)) : values.has(key));
}

function ordered(value: IndexValue, accepts: (order: number) => boolean): (key: IndexKey) => boolean {
  return (key) => key !== null && !Array.isArray(key) && accepts(compareIndexValues(key, value));
}

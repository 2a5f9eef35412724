import type { ModelInfo } from '../server/model-info.ts';
import type { FormField } from './form-field.ts';

export type FieldWidget = 'text' | 'multiline' | 'yaml';

/** How a field is shown, without any effect on what is stored. */
export interface FieldHint {
  label?: string;
  help?: string;
  /** Fields with a number come first, the smallest before the others. */
  order?: number;
  /** Shown only with "more", while it is absent. */
  more?: boolean;
  widget?: FieldWidget;
}

/** By the listed name of the field: `spec.ports[*].name`. */
export type FieldHints = ReadonlyMap<string, FieldHint>;

/** What few people change. */
const namespacedHints: FieldHints = new Map([
  ['metadata.generateName', { more: true }],
  ['metadata.finalizers', { more: true }],
  ['metadata.ownerReferences', { more: true }],
]);
const clusterHints: FieldHints = new Map([['metadata.namespace', { more: true }], ...namespacedHints]);

/** Those of every model. */
export function commonHints({ namespaced }: Pick<ModelInfo, 'namespaced'>): FieldHints {
  return namespaced ? namespacedHints : clusterHints;
}

/** Those of an object that is a field of another: nobody sets its status there. */
export function embeddedHints(hints: FieldHints): FieldHints {
  return new Map([['status', { more: true }], ...hints]);
}

/** These with those of the lists: of two that say the same of one field, the later is right. */
export function mergedHints(
  common: FieldHints,
  lists: readonly (readonly (FieldHint & { path: string })[])[],
): FieldHints {
  const merged = new Map(common);
  for (const { path, ...hint } of lists.flat()) merged.set(path, { ...merged.get(path), ...hint });
  return merged;
}

/** The fields of an object in the order that the hints wish. */
export function inHintedOrder(fields: readonly FormField[], hints: FieldHints): FormField[] {
  const rank = ({ listed, kind }: FormField): number =>
    // Other fields have the name of their object, and are last.
    kind === 'others' ? Number.MAX_SAFE_INTEGER : (hints.get(listed)?.order ?? Number.MAX_SAFE_INTEGER);
  return fields.toSorted((a, b) => rank(a) - rank(b));
}

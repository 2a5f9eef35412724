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
export const commonHints: FieldHints = new Map([
  ['metadata.generateName', { more: true }],
  ['metadata.finalizers', { more: true }],
  ['metadata.ownerReferences', { more: true }],
]);

/** Those of an object that is a field of another: nobody sets its status there. */
export function embeddedHints(hints: FieldHints): FieldHints {
  return new Map([['status', { more: true }], ...hints]);
}

/** All of them: of two that say the same of one field, the later is right. */
export function mergedHints(lists: readonly (readonly (FieldHint & { path: string })[])[]): FieldHints {
  const merged = new Map(commonHints);
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

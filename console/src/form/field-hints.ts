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

export const noHints: FieldHints = new Map();

/** The fields of an object in the order that the hints wish. */
export function inHintedOrder(fields: readonly FormField[], hints: FieldHints): FormField[] {
  const rank = ({ listed, kind }: FormField): number =>
    kind === 'others' ? Number.POSITIVE_INFINITY : (hints.get(listed)?.order ?? Number.MAX_SAFE_INTEGER);
  return fields.toSorted((a, b) => rank(a) - rank(b) || 0);
}

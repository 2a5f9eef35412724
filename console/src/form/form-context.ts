import type { JsonValue, StatusCause } from '@svc/client';
import { createContext, useContext } from 'react';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { isWithin, type FieldPath } from './field-path.ts';
import type { FormField } from './form-field.ts';
import type { FieldHints } from './field-hints.ts';

/** A text that is no value yet, and why. */
export interface UnfinishedText {
  text: string;
  fault: string;
}

/** What stays the same while a person types, so that a field is rendered only when it changes. */
export interface FormActions {
  shared: ModelSchema['shared'];
  hints: FieldHints;
  /** Fields that cannot be changed, by id. */
  readOnly: ReadonlySet<string>;
  /** Undefined removes the field. */
  set: (path: FieldPath, value: JsonValue | undefined) => void;
  /** The value at the path, as it is now. */
  get: (path: FieldPath) => JsonValue | undefined;
  /** A text that is not yet a value, by the key of its field; undefined if it has become one. */
  setUnfinished: (key: string, text: UnfinishedText | undefined) => void;
  /** The focus has reached the field. */
  arrived: () => void;
}

/** What changes with each answer of the server. */
export interface FormFacts {
  causes: readonly StatusCause[];
  unfinished: ReadonlyMap<string, UnfinishedText>;
  /** Where the focus shall go: each choice is another object. */
  target: { field: string } | undefined;
}

export const FormActionsContext = createContext<FormActions | undefined>(undefined);
export const FormFactsContext = createContext<FormFacts>({ causes: [], unfinished: new Map(), target: undefined });

export function useFormActions(): FormActions {
  return useContext(FormActionsContext)!;
}

/** Where a text that is not yet a value is kept: other fields have the id of their object. */
export function unfinishedKey({ id, kind }: FormField): string {
  return `${kind === 'others' ? 'others' : 'field'} ${id}`;
}

/** The causes that a field shows itself. What a field shows as one text has those of its parts, too. */
export function causesAt<T extends { field?: string }>(
  { id, kind, value }: FormField,
  causes: readonly T[],
): readonly T[] {
  const isWhole = kind !== 'object' && kind !== 'map' && kind !== 'list';
  if (kind === 'others')
    return causes.filter(({ field }) =>
      Object.keys((value ?? {}) as object).some((name) => isWithin(field ?? '', id === '' ? name : `${id}.${name}`)),
    );
  return causes.filter(
    ({ field }) => field !== undefined && (isWhole ? id !== '' && isWithin(field, id) : field === id),
  );
}

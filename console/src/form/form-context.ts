import type { JsonValue, StatusCause } from '@svc/client';
import { createContext, useContext, useRef, useSyncExternalStore } from 'react';
import { Observable } from '../server/observable.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { isWithin, type FieldPath } from './field-path.ts';
import { isGroup, type FormField } from './form-field.ts';
import type { FieldHints } from './field-hints.ts';
import type { UnfinishedText, UnfinishedTexts } from './unfinished-texts.ts';

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
  /** The element of a list changes places with the one before it. */
  moveUp: (element: FieldPath) => void;
  /** Another name for a key of a map, in its place. */
  renameKey: (map: FieldPath, from: string, to: string) => void;
  /** A text that is not yet a value, by the key of its field; undefined if it has become one. */
  setUnfinished: (key: string, text: UnfinishedText | undefined) => void;
  /** The focus has reached the field. */
  arrived: () => void;
}

/** What changes with each answer of the server. */
export interface FormFacts {
  causes: readonly StatusCause[];
  unfinished: UnfinishedTexts;
  /** Where the focus shall go: each choice is another object. */
  target: { field: string } | undefined;
}

export const FormActionsContext = createContext<FormActions | undefined>(undefined);
export const FormFactsContext = createContext(
  new Observable<FormFacts>({ causes: [], unfinished: new Map(), target: undefined }),
);

export function useFormActions(): FormActions {
  return useContext(FormActionsContext)!;
}

/** A part of the facts: who uses it is rendered again only if this part is another one. */
export function useFormFact<T>(select: (facts: FormFacts) => T, isSame: (a: T, b: T) => boolean = Object.is): T {
  const facts = useContext(FormFactsContext);
  const last = useRef<{ value: T } | undefined>(undefined);
  return useSyncExternalStore(facts.subscribe, () => {
    const value = select(facts.get());
    if (last.current === undefined || !isSame(last.current.value, value)) last.current = { value };
    return last.current.value;
  });
}

export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, at) => Object.is(each, b[at]));
}

/** The causes that a field shows itself. What a field shows as one text has those of its parts, too. */
export function causesAt<T extends { field?: string }>(field: FormField, causes: readonly T[]): readonly T[] {
  const { id, kind, value } = field;
  if (kind === 'others')
    return causes.filter(({ field: at }) =>
      Object.keys((value ?? {}) as object).some((name) => isWithin(at ?? '', id === '' ? name : `${id}.${name}`)),
    );
  return causes.filter(
    ({ field: at }) => at !== undefined && (isGroup(field) ? at === id : id !== '' && isWithin(at, id)),
  );
}

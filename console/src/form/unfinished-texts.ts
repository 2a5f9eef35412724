import { isWithin, pathText, type FieldPath } from './field-path.ts';
import type { FormField } from './form-field.ts';

/** A text that is no value yet, and why. */
export interface UnfinishedText {
  text: string;
  fault: string;
}

/** By the part of a field that shows it: `field spec.free`, `key spec.labels.tier`. */
export type UnfinishedTexts = ReadonlyMap<string, UnfinishedText>;

/** Other fields have the id of their object. */
export function unfinishedKey({ id, kind }: FormField): string {
  return `${kind === 'others' ? 'others' : 'field'} ${id}`;
}

export function unfinishedKeyName({ id }: FormField): string {
  return `key ${id}`;
}

/** Where the field of this id is after a change; undefined if it is gone. */
type NewPlace = (id: string) => string | undefined;

/** Each text where its field is now; those of fields that are gone are gone, so that nothing waits for them. */
export function textsAt(texts: UnfinishedTexts, place: NewPlace): UnfinishedTexts {
  const moved = [...texts].flatMap(([key, text]): [string, UnfinishedText][] => {
    const [part, id] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)];
    const now = place(id);
    return now === undefined ? [] : [[`${part} ${now}`, text]];
  });
  return moved.length === texts.size && moved.every(([key]) => texts.has(key)) ? texts : new Map(moved);
}

export function afterRemoval(path: FieldPath): NewPlace {
  const removed = path.at(-1);
  if (typeof removed !== 'number') return (id) => (isWithin(id, pathText(path)) ? undefined : id);
  return inList(path.slice(0, -1), (at) => (at === removed ? undefined : at > removed ? at - 1 : at));
}

/** The element at `from` and the one at `to` have changed places. */
export function afterSwap(list: FieldPath, from: number, to: number): NewPlace {
  return inList(list, (at) => (at === from ? to : at === to ? from : at));
}

export function afterRename(map: FieldPath, from: string, to: string): NewPlace {
  const [before, after] = [pathText([...map, from]), pathText([...map, to])];
  return (id) => (isWithin(id, before) ? after + id.slice(before.length) : id);
}

function inList(list: FieldPath, place: (at: number) => number | undefined): NewPlace {
  const start = pathText(list);
  return (id) => {
    const found = id.startsWith(start) ? /^\[(\d+)\](.*)$/s.exec(id.slice(start.length)) : null;
    if (found === null) return id;
    const now = place(Number(found[1]));
    return now === undefined ? undefined : `${start}[${now}]${found[2]}`;
  };
}

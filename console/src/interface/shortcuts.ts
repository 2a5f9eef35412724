import { useEffect, useRef } from 'react';
import { Observable } from '../server/observable.ts';

const storageKey = 'svc-console-single-keys';

/** Do single letters act? Some people speak to their computer, or press keys by accident. Source: WCAG 2.1.4. */
export const hasSingleKeys = new Observable(localStorage.getItem(storageKey) !== 'off');

export function setSingleKeys(isOn: boolean): void {
  localStorage.setItem(storageKey, isOn ? 'on' : 'off');
  hasSingleKeys.set(isOn);
}

/** `k`, `g o` for one key after the other, or `Control+k`, which Command does as well. */
export type Keys = string;

/** So long after its first key the second key of a sequence still counts. */
const sequenceMs = 1500;

interface Shortcut {
  keys: Keys;
  act: () => void;
}

const registered = new Set<Shortcut>();
let before: { key: string; at: number } | undefined;

/** Does `act` when the keys are pressed: with Control anywhere, others outside of text fields and dialogs. */
export function useShortcut(keys: Keys, act: () => void): void {
  const current = useRef(act);
  useEffect(() => {
    current.current = act;
  });
  useEffect(() => {
    const shortcut = { keys, act: () => current.current() };
    registered.add(shortcut);
    return () => void registered.delete(shortcut);
  }, [keys]);
}

/** As if the keys were pressed. */
export function pressKeys(keys: Keys): void {
  shortcutOf(keys)?.act();
}

function shortcutOf(keys: Keys | undefined): Shortcut | undefined {
  return [...registered].find((shortcut) => shortcut.keys === keys);
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented) return;
  const first = before !== undefined && before.at >= Date.now() - sequenceMs ? before.key : undefined;
  const found = shortcutOf(keysOf(event, first));
  before = first === undefined && found === undefined ? { key: event.key, at: Date.now() } : undefined;
  if (found === undefined) return;
  event.preventDefault();
  found.act();
});

/** Undefined: these keys are somebody else's. */
function keysOf({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent, first: string | undefined): Keys | undefined {
  if (ctrlKey || metaKey) return `Control+${key.toLowerCase()}`;
  if (altKey || !hasSingleKeys.get() || isTyping(target) || isInDialog()) return undefined;
  return first === 'g' ? `g ${key}` : key;
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox' && target.type !== 'radio';
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName));
}

function isInDialog(): boolean {
  return document.querySelector('[role=dialog]') !== null;
}

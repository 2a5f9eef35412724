import { Observable } from '../server/observable.ts';

export const appearances = ['system', 'light', 'dark'] as const;
export type Appearance = (typeof appearances)[number];

const storageKey = 'svc-console-appearance';
const stored = localStorage.getItem(storageKey);

export const appearance = new Observable<Appearance>(appearances.find((each) => each === stored) ?? 'system');

export function setAppearance(chosen: Appearance): void {
  localStorage.setItem(storageKey, chosen);
  appearance.set(chosen);
  showAppearance();
}

/** A page without a choice looks as the system does. */
export function showAppearance(): void {
  document.documentElement.dataset['appearance'] = appearance.get();
}

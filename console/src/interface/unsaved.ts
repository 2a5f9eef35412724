import { useEffect } from 'react';
import { texts } from '../texts/texts.ts';

const holders = new Set<object>();

/** Asks before the page is left while something is not saved. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const holder = {};
    holders.add(holder);
    return () => void holders.delete(holder);
  }, [isUnsaved]);
}

/** May the page be left? Asks the user if something would be lost. */
export function mayLeave(): boolean {
  // oxlint-disable-next-line no-alert -- The browser's own question stops everything, as it must here.
  return holders.size === 0 || window.confirm(texts.editor.leave);
}

globalThis.addEventListener('beforeunload', (event) => {
  if (holders.size > 0) event.preventDefault();
});

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
  return holders.size === 0 || mayLose();
}

/** Asks the user whether what is not saved may be lost. */
export function mayLose(): boolean {
  // oxlint-disable-next-line no-alert -- The browser's own question stops everything, as it must here.
  return window.confirm(texts.editor.leave);
}

/** The same, for an address: another view of the same page loses nothing. */
export function mayLeaveFor(to: string, from = location.href): boolean {
  return new URL(to, location.href).pathname === new URL(from).pathname || mayLeave();
}

/** Of the page that is shown. Back and Forward may change the browser's before anybody can be asked. */
let shownAddress = location.href;
/** Where the browser is about to go: nobody is asked again. */
let allowedAddress: string | undefined;

// A step that is refused before it is made leaves the history as it is. Some browsers, and those that have just asked,
// let nobody refuse it.
(globalThis as { navigation?: Navigation }).navigation?.addEventListener('navigate', (event) => {
  const { url, sameDocument } = event.destination;
  if (event.navigationType !== 'traverse' || !sameDocument || !event.cancelable) return;
  if (mayLeaveFor(url, shownAddress)) allowedAddress = url;
  else event.preventDefault();
});
// The router, which begins to listen later, does not hear of a step that is taken back.
globalThis.addEventListener('popstate', (event) => {
  const isAllowed = location.href === allowedAddress || mayLeaveFor(location.href, shownAddress);
  allowedAddress = undefined;
  if (isAllowed) {
    shownAddress = location.href;
    return;
  }
  event.stopImmediatePropagation();
  history.pushState(null, '', shownAddress);
});
// The router tells of these.
for (const type of ['pushState', 'replaceState'])
  globalThis.addEventListener(type, () => {
    shownAddress = location.href;
  });

globalThis.addEventListener('beforeunload', (event) => {
  if (holders.size > 0) event.preventDefault();
});

/** A dialog that closes gives the focus back by itself, in the next frame. */
const framesToWait = 2;

/**
 * Moves the focus to the content of the page when the element that had it is removed: a row that was opened, a button
 * that has done its work. Else the keyboard would begin at the top of the page again. Source: WCAG 2.4.3.
 */
export function keepFocus(): void {
  let last: Element | undefined;
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof Element) last = target;
  });
  const isLost = (): boolean => last?.isConnected === false && document.activeElement === document.body;
  const restore = (frames: number): void => {
    if (!isLost()) return;
    if (frames > 0) requestAnimationFrame(() => restore(frames - 1));
    else document.querySelector<HTMLElement>('#content')?.focus({ preventScroll: true });
  };
  new MutationObserver(() => restore(framesToWait)).observe(document.body, { childList: true, subtree: true });
}

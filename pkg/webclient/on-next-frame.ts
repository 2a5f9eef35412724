/** Longest wait for a frame: a page in the background paints none. */
const hiddenFrameMs = 100;

/** Calls `act` with the next frame; at once where no frames are painted, as in Node.js. */
export function onNextFrame(act: () => void): void {
  const { requestAnimationFrame: onFrame } = globalThis as { requestAnimationFrame?: (act: () => void) => void };
  if (onFrame === undefined) return act();
  let isDone = false;
  const once = (): void => {
    if (isDone) return;
    isDone = true;
    act();
  };
  onFrame(once);
  setTimeout(once, hiddenFrameMs);
}

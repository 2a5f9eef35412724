/** So long work may go on before the page can paint and answer. */
const turnMs = 12;

/** Work of many small steps calls the result after each: it waits whenever the page needs a turn. */
export function pauseForPage(): () => Promise<void> | void {
  let began = performance.now();
  return () => {
    if (performance.now() - began < turnMs) return undefined;
    return new Promise((resolve) => {
      setTimeout(() => {
        began = performance.now();
        resolve();
      });
    });
  };
}

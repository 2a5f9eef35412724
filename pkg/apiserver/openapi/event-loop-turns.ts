/** Lets others run between the parts of a long computation: a function to call after each part. `budgetMs` is how long it may go on without. */
export function eventLoopTurns(budgetMs = 10): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < budgetMs) return;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    since = performance.now();
  };
}

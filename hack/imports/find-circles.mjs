/** Circles in a graph of files: one shortest circle for each file that is on any, each circle once. */
export function findCircles(graph) {
  const circles = new Map();
  for (const start of graph.keys()) {
    const circle = shortestWayBack(graph, start);
    if (circle === undefined) continue;
    const key = [...graph.keys()].filter((file) => circle.includes(file)).join('\n');
    if (!circles.has(key)) circles.set(key, circle);
  }
  return [...circles.values()];
}

function shortestWayBack(graph, start) {
  const cameFrom = new Map();
  const queue = [start];
  for (const file of queue) {
    for (const next of graph.get(file) ?? []) {
      if (next === start) return wayTo(file, cameFrom, start);
      if (cameFrom.has(next) || !graph.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

function wayTo(file, cameFrom, start) {
  const way = [];
  for (let at = file; at !== start; at = cameFrom.get(at)) way.unshift(at);
  return [start, ...way];
}

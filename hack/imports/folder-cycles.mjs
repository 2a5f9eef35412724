/**
 * Cycles of sibling folders: `edges` are imports `{ from, to }` of files. An import counts between the two folders
 * below the deepest common folder; a file directly in that folder belongs to no folder.
 */
export function findFolderCycles(edges) {
  const graph = new Map();
  for (const edge of edges) {
    const [from, to] = siblingFolders(edge.from, edge.to) ?? [];
    if (from === undefined) continue;
    const targets = graph.get(from) ?? new Map();
    graph.set(from, targets.set(to, targets.get(to) ?? edge));
  }
  const cycles = new Map();
  for (const folder of graph.keys()) {
    const way = findWay(graph, folder, folder);
    if (way !== undefined) cycles.set(way.toSorted((a, b) => (a < b ? -1 : 1)).join('\n'), withImports(graph, way));
  }
  return [...cycles.values()];
}

function siblingFolders(from, to) {
  const [a, b] = [from.split('/').slice(0, -1), to.split('/').slice(0, -1)];
  const depth = a.findIndex((part, i) => part !== b[i]);
  if (depth === -1 || depth >= b.length) return undefined;
  return [a.slice(0, depth + 1).join('/'), b.slice(0, depth + 1).join('/')];
}

/** The folders of a shortest path, without its end; undefined if there is none. */
function findWay(graph, start, end) {
  const cameFrom = new Map();
  const queue = [start];
  for (const folder of queue) {
    for (const next of graph.get(folder)?.keys() ?? []) {
      if (next === end) {
        const way = [folder];
        while (way[0] !== start) way.unshift(cameFrom.get(way[0]));
        return way;
      }
      if (cameFrom.has(next) || next === start) continue;
      cameFrom.set(next, folder);
      queue.push(next);
    }
  }
  return undefined;
}

function withImports(graph, way) {
  return way.map((folder, i) => ({ folder, ...graph.get(folder).get(way[(i + 1) % way.length]) }));
}

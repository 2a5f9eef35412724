import type { PluginEndpoint } from '#pkg/apis/index';
import { endpointPrefix, parseEndpointPath, type EndpointPathSegment } from './endpoint-path.ts';

/** An endpoint and its plugin. */
export interface MountedEndpoint {
  plugin: string;
  endpoint: PluginEndpoint;
}

/** All endpoints of one path. */
export interface PathEndpoints {
  /** The path template, from `/apis` on. */
  path: string;
  segments: readonly EndpointPathSegment[];
  byMethod: Map<string, MountedEndpoint>;
}

/** The endpoints that a path matches. */
export interface EndpointMatch {
  place: PathEndpoints;
  params: Record<string, string>;
}

interface Node {
  literals: Map<string, Node>;
  parameter: Node | undefined;
  place: PathEndpoints | undefined;
}

/**
 * The endpoints below one prefix, by their paths. A path belongs to one template, whatever the method. If several
 * templates match, the first segment in which they differ decides: a literal wins over a parameter.
 */
export class EndpointTree {
  readonly #prefix: string;
  readonly #root: Node = newNode();
  readonly #places: PathEndpoints[] = [];
  #depth = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get places(): readonly PathEndpoints[] {
    return this.#places;
  }

  /**
   * Returns the conflicting endpoint and adds nothing if there is one: an endpoint of the same method and path, or of a
   * path that differs only in its parameter names, which readers of the reference could not tell apart.
   */
  add(mounted: MountedEndpoint): MountedEndpoint | undefined {
    const { path, method } = mounted.endpoint;
    const segments = parseEndpointPath(path);
    if (typeof segments === 'string') throw new TypeError(`the path of an endpoint ${segments}`);
    const node = this.#nodeOf(segments);
    const full = `${this.#prefix}${path}`;
    const { place } = node;
    if (place === undefined) {
      node.place = { path: full, segments, byMethod: new Map([[method, mounted]]) };
      this.#places.push(node.place);
      return undefined;
    }
    const holder = place.path === full ? place.byMethod.get(method) : [...place.byMethod.values()][0];
    if (holder === undefined) place.byMethod.set(method, mounted);
    return holder;
  }

  /** `path` is decoded, and starts with the prefix. */
  find(path: string): EndpointMatch | undefined {
    if (path.charCodeAt(this.#prefix.length) !== 47) return undefined;
    const segments = path.slice(this.#prefix.length + 1).split('/', this.#depth + 1);
    if (segments.length > this.#depth) return undefined;
    const place = descend(this.#root, segments, 0);
    return place === undefined ? undefined : { place, params: paramsOf(place, segments) };
  }

  #nodeOf(segments: readonly EndpointPathSegment[]): Node {
    this.#depth = Math.max(this.#depth, segments.length);
    let node = this.#root;
    for (const segment of segments) {
      if ('parameter' in segment) {
        node = node.parameter ??= newNode();
        continue;
      }
      let next = node.literals.get(segment.literal);
      if (next === undefined) node.literals.set(segment.literal, (next = newNode()));
      node = next;
    }
    return node;
  }
}

/** The trees of all endpoints, by their prefixes. */
export class EndpointTable {
  readonly trees = new Map<string, EndpointTree>();

  /** See `EndpointTree.add`. */
  add(mounted: MountedEndpoint): MountedEndpoint | undefined {
    const prefix = endpointPrefix(mounted.endpoint);
    let tree = this.trees.get(prefix);
    if (tree === undefined) this.trees.set(prefix, (tree = new EndpointTree(prefix)));
    return tree.add(mounted);
  }
}

function newNode(): Node {
  return { literals: new Map(), parameter: undefined, place: undefined };
}

/** Visits a node at most once, because only one path leads to it. */
function descend(node: Node, segments: readonly string[], at: number): PathEndpoints | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.place;
  // No endpoint has a path that ends with a slash.
  if (segment === '') return undefined;
  const literal = node.literals.get(segment);
  const found = literal === undefined ? undefined : descend(literal, segments, at + 1);
  return found ?? (node.parameter === undefined ? undefined : descend(node.parameter, segments, at + 1));
}

function paramsOf({ segments }: PathEndpoints, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    segments.flatMap((segment, i) => ('parameter' in segment ? [[segment.parameter, values[i]!]] : [])),
  );
}

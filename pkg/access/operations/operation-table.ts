import { newAccessMethodNotAllowed, newAccessNotFound } from '../http/access-error.ts';
import type { Method, Operation } from './operation.ts';

interface PathNode {
  readonly literals: Map<string, PathNode>;
  parameter: { name: string; node: PathNode } | undefined;
  readonly operations: Map<Method, Operation>;
}

export interface FoundOperation {
  operation: Operation;
  params: Record<string, string>;
}

/**
 * Operations by method and path. A path with and without a final slash is the same: a redirect would break signatures.
 */
export class OperationTable {
  readonly #root = newNode();

  /** Throws where two operations have one method and path, or two names for one parameter. */
  constructor(operations: readonly Operation[]) {
    for (const operation of operations) this.#add(operation);
  }

  /** `path` is decoded; HEAD counts as GET. Throws 404, or 405 with the permitted methods. */
  find(method: string, path: string): FoundOperation {
    const params: Record<string, string> = {};
    let node: PathNode | undefined = this.#root;
    for (const segment of segmentsOf(path)) {
      const literal: PathNode | undefined = node.literals.get(segment);
      if (literal === undefined && node.parameter !== undefined && segment !== '')
        params[node.parameter.name] = segment;
      node = literal ?? (segment === '' ? undefined : node.parameter?.node);
      if (node === undefined) throw newAccessNotFound();
    }
    if (node.operations.size === 0) throw newAccessNotFound();
    const operation = node.operations.get((method === 'HEAD' ? 'GET' : method) as Method);
    if (operation === undefined) throw newAccessMethodNotAllowed(method, allowedOf(node));
    return { operation, params };
  }

  #add(operation: Operation): void {
    let node = this.#root;
    let otherName: string | undefined;
    for (const segment of segmentsOf(operation.path)) {
      const name = parameterName(segment);
      if (name !== undefined && node.parameter !== undefined && node.parameter.name !== name)
        otherName = node.parameter.name;
      node = childOf(node, segment);
    }
    if (node.operations.has(operation.method))
      throw new Error(`two operations for ${operation.method} ${operation.path}`);
    if (otherName !== undefined)
      throw new Error(`a parameter of ${operation.path} is named {${otherName}} in another path`);
    node.operations.set(operation.method, operation);
  }
}

function childOf(node: PathNode, segment: string): PathNode {
  const name = parameterName(segment);
  if (name !== undefined) {
    node.parameter ??= { name, node: newNode() };
    return node.parameter.node;
  }
  const child = node.literals.get(segment) ?? newNode();
  node.literals.set(segment, child);
  return child;
}

function parameterName(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1];
}

function segmentsOf(path: string): string[] {
  const inner = path.startsWith('/') ? path.slice(1) : path;
  return (inner.endsWith('/') ? inner.slice(0, -1) : inner).split('/');
}

function allowedOf({ operations }: PathNode): string[] {
  const methods: string[] = [...operations.keys()];
  return operations.has('GET') ? [...methods, 'HEAD'] : methods;
}

function newNode(): PathNode {
  return { literals: new Map(), parameter: undefined, operations: new Map() };
}

import type { TestEnv } from '../start-test-env.ts';

/** The fields of a response body; an absent field is undefined whatever its type here says. */
export interface WireBody {
  apiVersion: string;
  kind: string;
  metadata: WireMetadata;
  spec: Record<string, unknown>;
  status: unknown;
  reason: string;
  message: string;
  code: unknown;
  details: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    retryAfterSeconds?: number;
    causes?: WireCause[];
  };
  items: WireBody[];
  page: number;
  size: number;
  total: number;
  totalPages: number;
  first: boolean;
  last: boolean;
  hasNext: boolean;
  hasPrevious: boolean;
}

export interface WireCause {
  reason: string;
  message: string;
  field: string;
}

export interface WireMetadata {
  name: string;
  namespace: string;
  generateName: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp: string;
  deletionGracePeriodSeconds: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  finalizers: string[];
  continue: string;
  remainingItemCount: number;
}

export interface WireResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; an empty object if it is not JSON. */
  body: WireBody;
}

export interface Sending {
  body?: unknown;
  headers?: Record<string, string>;
}

/** Sends requests to one of the servers and reads each response completely, without managed fields by default. */
export interface ContractClient {
  send(method: string, path: string, sending?: Sending): Promise<WireResponse>;
  get(path: string, headers?: Record<string, string>): Promise<WireResponse>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<WireResponse>;
  put(path: string, body: unknown, headers?: Record<string, string>): Promise<WireResponse>;
  /** A merge patch unless the headers set another type. */
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<WireResponse>;
  delete(path: string, sending?: Sending): Promise<WireResponse>;
}

export const jsonPatch = { 'content-type': 'application/json-patch+json' };
export const mergePatch = { 'content-type': 'application/merge-patch+json' };
export const applyPatch = { 'content-type': 'application/apply-patch+yaml' };
export const json = { 'content-type': 'application/json' };
export const yaml = { 'content-type': 'application/yaml' };

/** Most cases compare whole objects, and are not about managed fields. */
export const withoutManagedFields = { accept: 'application/json;drop=metadata.managedFields' };

export function clientOf(env: TestEnv, server = 0): ContractClient {
  const send = async (method: string, path: string, { body, headers = {} }: Sending = {}): Promise<WireResponse> => {
    const response = await env.request(path, {
      method,
      headers: { ...withoutManagedFields, ...headers },
      server,
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  };
  return {
    send,
    get: (path, headers = {}) => send('GET', path, { headers }),
    post: (path, body, headers = {}) =>
      send('POST', path, { body, headers: typeof body === 'string' ? { ...json, ...headers } : headers }),
    put: (path, body, headers = {}) =>
      send('PUT', path, { body, headers: typeof body === 'string' ? { ...json, ...headers } : headers }),
    patch: (path, body, headers = {}) => send('PATCH', path, { body, headers: { ...mergePatch, ...headers } }),
    delete: (path, sending = {}) => send('DELETE', path, sending),
  };
}

/** The path with these query parameters; a list repeats the parameter. */
export function withQuery(path: string, query: Record<string, string | readonly string[]>): string {
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query))
    for (const value of [values].flat()) parameters.append(name, value);
  return `${path}?${parameters.toString()}`;
}

export function names(answer: WireResponse): string[] {
  return answer.body.items.map(({ metadata }) => metadata.name);
}

function parse(text: string): WireBody {
  try {
    return JSON.parse(text) as WireBody;
  } catch {
    return {} as WireBody;
  }
}

import { pause } from '#pkg/apimachinery/index';
import type { TestEnv, TestRequest } from '../start-test-env.ts';

/** Any response body, loosely typed for tests: an object, a list or a Status. */
export interface ApiBody {
  apiVersion: string;
  kind: string;
  metadata: ApiMetadata;
  spec: Record<string, unknown>;
  status: unknown;
  items: ApiBody[];
  reason: string;
  message: string;
  code: number;
  details: { name?: string; group?: string; kind?: string; uid?: string; causes?: Cause[]; retryAfterSeconds?: number };
}

export interface ApiMetadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  continue?: string;
  remainingItemCount?: number;
}

export interface Cause {
  reason: string;
  message: string;
  field: string;
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  /** The unparsed body. */
  text: string;
  body: ApiBody;
  /** Texts of the Warning headers, unquoted. */
  warnings: string[];
}

/** Sends one request and reads the whole response. */
export async function call(env: TestEnv, path: string, init: TestRequest = {}): Promise<ApiResponse> {
  const response = await env.request(path, { signal: AbortSignal.timeout(60_000), ...init });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: parsed(text),
    warnings: warningTexts(response.headers),
  };
}

export { jsonPatch, mergePatch } from './client.ts';
export const yamlBody = { 'content-type': 'application/yaml' };

/** Retries until the attempt passes; throws the last failure. */
export async function retryUntilPasses<T>(attempt: () => Promise<T> | T, timeoutMs = 60_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(20);
    }
  }
}

/** `causes` as `field: reason: message`, sorted. */
export function causesOf({ body }: ApiResponse): string[] {
  return (body.details?.causes ?? []).map(({ field, reason, message }) => `${field}: ${reason}: ${message}`).toSorted();
}

function parsed(text: string): ApiBody {
  try {
    return JSON.parse(text) as ApiBody;
  } catch {
    return {} as ApiBody;
  }
}

function warningTexts(headers: Headers): string[] {
  return [...(headers.get('warning') ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    text!.replaceAll(/\\(.)/g, '$1'),
  );
}

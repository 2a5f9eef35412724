import { createHash } from 'node:crypto';
import { isJsonObject } from '#pkg/apimachinery/index';
import type { WatchDefinition } from '../definition/controller-definition.ts';

/**
 * The progress of a controller: all events of its watches up to these revisions are handled, except for the open
 * requests.
 */
export interface ResumePosition {
  /** The watches that it belongs to: see `resumeSignature`. */
  signature: string;
  /**
   * The version of the code that has reconciled all objects, see `versionDigest`; absent if it has not reconciled all.
   */
  version?: string;
  /** A revision for each watch, in their order. */
  revisions: readonly bigint[];
  /** Open requests, as keys of the queue, with their due times in milliseconds since 1970; 0 for immediately. */
  open: ReadonlyMap<string, number>;
}

const form = 1;
const decimal = /^\d{1,19}$/;
/** Above this number a position does not list requests one by one: see `WorkLedger.open`. */
export const maxOpenRequests = 500;

/** Identifies these watches in this order; a position with another signature is invalid. */
export function resumeSignature(watches: readonly WatchDefinition[]): string {
  const what = watches.map(
    ({ type: { group, version: of, plural }, selection: { namespace, labelSelector, fieldSelector } }) => [
      group,
      of,
      plural,
      namespace ?? null,
      labelSelector ?? null,
      fieldSelector ?? null,
    ],
  );
  return digest(JSON.stringify(what));
}

/** Digest of `ResumeOptions.version`, which may be any text. */
export function versionDigest(version: string): string {
  return digest(version);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

export function formatPosition({ signature, version, revisions, open }: ResumePosition): string {
  return JSON.stringify({
    v: form,
    signature,
    version,
    revisions: revisions.map(String),
    open: Object.fromEntries(open),
  });
}

/** Undefined for an invalid position: other clients can write the annotation. */
export function parsePosition(text: string): ResumePosition | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || value['v'] !== form) return undefined;
  const { signature, version, revisions, open } = value;
  if (
    typeof signature !== 'string' ||
    (version !== undefined && typeof version !== 'string') ||
    !Array.isArray(revisions) ||
    !isJsonObject(open)
  )
    return undefined;
  const entries = Object.entries(open);
  const isSound =
    revisions.every((each) => typeof each === 'string' && decimal.test(each)) &&
    entries.length <= maxOpenRequests &&
    entries.every(([key, due]) => key.includes('/') && Number.isSafeInteger(due));
  if (!isSound) return undefined;
  return {
    signature,
    ...(version === undefined ? {} : { version }),
    revisions: revisions.map((each) => BigInt(each as string)),
    open: new Map(entries as [string, number][]),
  };
}

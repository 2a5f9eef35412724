import { createHash } from 'node:crypto';
import { isJsonObject } from '#pkg/apimachinery/index';
import type { WatchDefinition } from '../definition/controller-definition.ts';

/**
 * How far a controller is: every event of its watches up to their revisions has been handled, but for those that the
 * open requests stand for.
 */
export interface ResumePosition {
  /** What it holds for: see `resumeSignature`. */
  signature: string;
  /**
   * The version of the controller's code that has looked at what is there, see `versionDigest`; absent where not all of
   * it has been looked at.
   */
  version?: string;
  /** Of each watch, in their order. */
  revisions: readonly bigint[];
  /** Requests that are still to be looked at, as keys of the queue: when, in milliseconds since 1970; 0 for at once. */
  open: ReadonlyMap<string, number>;
}

const form = 1;
const decimal = /^\d{1,19}$/;
/** More requests than this are not named one by one: see `WorkLedger.open`. */
export const maxOpenRequests = 500;

/** A position holds for these watches in this order, and for nothing else. */
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

/** Of `ResumeOptions.version`, which may be any text. */
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

/** Undefined for what is no position: it is a text in an object that others may write. */
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

import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Reader, Stored } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { leaseType, type Lease } from '#pkg/runtime/index';

/**
 * Of the Leases by which API servers tell that they are there, and what their public keys are. Source: Kubernetes'
 * `apiserver-<hash>`.
 */
export const identityPrefix = 'svc-apiserver-';
/** Annotation: the Ed25519 public key, 32 bytes as base64url. */
export const keyAnnotation = 'svc.run/endpoint-key';

/** More servers than anyone has; of more, none beyond is known. */
const maxServers = 500;

/** Longer ones end with this. Seconds. */
const longestLease = 600;
/** For clocks that differ. Milliseconds. */
const maxAheadMs = 60_000;

/** All that there are, of servers that are gone too. */
export async function listIdentities(client: Pick<Reader, 'list'>, signal: AbortSignal): Promise<Stored<Lease>[]> {
  const { items } = await client.list(leaseType, {
    namespace: systemNamespace,
    fieldSelector: `metadata.name^=${identityPrefix}`,
    limit: maxServers,
    signal,
  });
  return items;
}

/**
 * Until when its server may be relied on, in milliseconds since 1970 as `now` is; NaN where it does not say, or was
 * renewed in the future and so might never end.
 */
export function expiryOf({ spec }: Lease, now: number): number {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return renewed > now + maxAheadMs
    ? Number.NaN
    : renewed + Math.min(spec?.leaseDurationSeconds ?? Number.NaN, longestLease) * 1000;
}

export function formatPublicKey(key: KeyObject): string {
  return key.export({ format: 'jwk' }).x!;
}

/** Undefined for what is no such key. */
export function parsePublicKey(text: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

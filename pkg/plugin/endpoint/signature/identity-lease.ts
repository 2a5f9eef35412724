import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Reader, Stored } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { leaseType, type Lease } from '#pkg/runtime/index';

/**
 * Name prefix of the Leases with which API servers publish that they are alive, and their public keys. Source:
 * Kubernetes' `apiserver-<hash>`.
 */
export const identityPrefix = 'svc-apiserver-';
/** Annotation: the Ed25519 public key, 32 bytes as base64url. */
export const keyAnnotation = 'svc.run/endpoint-key';

/** More servers than any installation has; keys beyond this number are unknown. */
const maxServers = 500;

/** A longer lease counts as this long. Seconds. */
const maxLeaseSeconds = 600;
/** Allowance for clock skew. Milliseconds. */
const maxAheadMs = 60_000;

/** All identity leases, including those of stopped servers. */
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
 * Until when the server can be trusted, in milliseconds since 1970 as `now`; NaN if the lease does not say, or was
 * renewed in the future and so might never expire.
 */
export function expiryOf({ spec }: Lease, now: number): number {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return renewed > now + maxAheadMs
    ? Number.NaN
    : renewed + Math.min(spec?.leaseDurationSeconds ?? Number.NaN, maxLeaseSeconds) * 1000;
}

export function formatPublicKey(key: KeyObject): string {
  return key.export({ format: 'jwk' }).x!;
}

/** Undefined if the text is not such a key. */
export function parsePublicKey(text: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { isStatusError, pause, withinTime, type Client } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { leaseType, type Log } from '#pkg/runtime/index';
import { formatSignature, newClaims, type CallClaims } from './call-claims.ts';
import { expiryOf, formatPublicKey, identityPrefix, keyAnnotation, listIdentities } from './identity-lease.ts';

export interface ServerIdentityOptions {
  client: Pick<Client, 'list' | 'create' | 'patch' | 'delete'>;
  log: Log;
  /** The holder in the lease: the name of this machine. */
  hostname: string;
  /** Milliseconds. Default 60 000, at most 200 000; the lease lasts three times as long. */
  renewMs?: number;
}

/** Signs requests to another process of the platform. */
export interface CallSigner {
  /** The header value; the request must be sent at once. */
  sign(call: Pick<CallClaims, 'host' | 'target' | 'user'> & { body: Uint8Array }): string;
}

/** Timeout of one renewal with its cleanup. Milliseconds. */
const roundMs = 15_000;
const maxRetryMs = 10_000;
/** An expired lease is kept this long, because clocks may differ. */
const graceMs = 60_000;
/** Expired leases of other servers that one renewal removes at most. */
const maxRemoved = 20;

/**
 * The identity of this API server: a key pair whose private key never leaves memory, and a Lease with the public key.
 * The lease is renewed until `stop` removes it. Each renewal also removes long expired leases of other servers.
 */
export class ServerIdentity implements CallSigner {
  readonly #options: Required<ServerIdentityOptions>;
  readonly #privateKey: KeyObject;
  readonly #publicKey: string;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Name of the lease. */
  readonly name = `${identityPrefix}${randomBytes(8).toString('hex')}`;

  constructor(options: ServerIdentityOptions) {
    this.#options = { renewMs: 60_000, ...options };
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.#privateKey = privateKey;
    this.#publicKey = formatPublicKey(publicKey);
  }

  /** Never rejects. Other processes refuse signed requests until the lease exists. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  sign(call: Parameters<CallSigner['sign']>[0]): string {
    return formatSignature(newClaims({ ...call, key: this.name, time: Date.now() }), this.#privateKey);
  }

  /** Call it before the client is closed. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#running === undefined) return;
    await this.#running;
    const { client, log } = this.#options;
    try {
      await client.delete(
        leaseType,
        { namespace: systemNamespace, name: this.name },
        { signal: AbortSignal.timeout(2000) },
      );
    } catch (error) {
      if (!isStatusError(error, 'NotFound'))
        log.warn({ err: error, lease: this.name }, 'could not delete the lease of this server; it expires by itself');
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { renewMs, log } = this.#options;
    let retryMs = 200;
    while (!signal.aborted) {
      let waitMs = renewMs;
      try {
        await this.#round(signal);
        retryMs = 200;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error, lease: this.name }, 'could not renew the lease of this server; retrying');
        waitMs = Math.min(retryMs, renewMs);
        retryMs = Math.min(retryMs * 2, maxRetryMs);
      }
      await pause(waitMs, signal, { ref: false });
    }
  }

  #round(stopping: AbortSignal): Promise<void> {
    return withinTime({ timeoutMs: roundMs, signal: stopping }, async (limit) => {
      await this.#renew(limit);
      await this.#removeExpired(limit);
    });
  }

  /** Writes the whole lease each time, in case something changed or removed it. */
  async #renew(signal: AbortSignal): Promise<void> {
    const { client, hostname, renewMs } = this.#options;
    const key = { namespace: systemNamespace, name: this.name };
    const annotations = { [keyAnnotation]: this.#publicKey };
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = {
      holderIdentity: `${hostname}_${this.name}`.slice(0, 253),
      leaseDurationSeconds: Math.ceil((3 * renewMs) / 1000),
      renewTime,
    };
    try {
      await client.patch(leaseType, key, { type: 'merge', patch: { metadata: { annotations }, spec } }, { signal });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      await client.create(
        leaseType,
        {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { ...key, annotations },
          spec: { ...spec, acquireTime: renewTime },
        },
        { signal },
      );
    }
  }

  async #removeExpired(signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const now = Date.now();
    const expired = (await listIdentities(client, signal)).filter(
      (lease) => lease.metadata.annotations?.[keyAnnotation] !== undefined && expiryOf(lease, now) < now - graceMs,
    );
    for (const { metadata } of expired.slice(0, maxRemoved)) {
      try {
        // The server may have renewed it meanwhile.
        await client.delete(
          leaseType,
          { namespace: systemNamespace, name: metadata.name },
          { signal, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
        );
        log.info({ lease: metadata.name }, 'deleted the expired lease of another server');
      } catch (error) {
        if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
      }
    }
  }
}

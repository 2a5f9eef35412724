import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from './client-address.ts';

/** By which addresses clients know this service. Each is an origin: `https://svc.example.com`. */
export class ServiceUrl {
  readonly #proxies: Pick<TrustedProxies, 'originOf'>;
  readonly #publicUrl: string | undefined;

  /** `publicUrl` is what the operator says. */
  constructor(proxies: Pick<TrustedProxies, 'originOf'>, publicUrl?: string) {
    this.#proxies = proxies;
    this.#publicUrl = publicUrl;
  }

  /**
   * As whoever sent this request sees the service. Of the public host it is the public URL: a proxy that is not trusted
   * may have ended TLS.
   */
  originOf(request: IncomingMessage): string {
    const seen = this.#proxies.originOf(request);
    return this.#publicUrl !== undefined && new URL(this.#publicUrl).host === new URL(seen).host
      ? this.#publicUrl
      : seen;
  }

  /** Where absolute URLs in an answer begin: the public URL, else what a trusted proxy says, else the Host header. */
  baseOf(request: IncomingMessage): string {
    return this.#publicUrl ?? this.originOf(request);
  }

  /**
   * Does the client come by https? To a public address with TLS everybody does, also by a proxy that is not trusted and
   * sends another host.
   */
  isSecure(request: IncomingMessage): boolean {
    return [this.baseOf(request), this.originOf(request)].some((origin) => origin.startsWith('https:'));
  }

  /** Pages of these are the service's own, as far as this request can tell. */
  ownOrigins(request: IncomingMessage): string[] {
    return this.#publicUrl === undefined ? [this.originOf(request)] : [this.#publicUrl, this.originOf(request)];
  }
}

import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from './client-address.ts';
import { forwardedRequestOf } from './forwarded-request.ts';

/**
 * The URLs under which clients reach this service. Each is an origin: `https://svc.example.com`. For a request that
 * another server has forwarded they are those of that server.
 */
export class ServiceUrl {
  readonly #proxies: Pick<TrustedProxies, 'originOf'>;
  readonly #publicUrl: string | undefined;

  /** `publicUrl`: as the operator has configured it. */
  constructor(proxies: Pick<TrustedProxies, 'originOf'>, publicUrl?: string) {
    this.#proxies = proxies;
    this.#publicUrl = publicUrl;
  }

  /**
   * The origin as the client of this request sees it. If it has the public host, this is the public URL: an untrusted
   * proxy may have terminated TLS.
   */
  originOf(request: IncomingMessage): string {
    const seen = this.#proxies.originOf(request);
    const publicUrl = this.#publicUrlFor(request);
    return publicUrl !== undefined && new URL(publicUrl).host === new URL(seen).host ? publicUrl : seen;
  }

  /** The base of absolute URLs in an answer: the public URL, else what a trusted proxy says, else the Host header. */
  baseOf(request: IncomingMessage): string {
    return this.#publicUrlFor(request) ?? this.originOf(request);
  }

  /**
   * Whether the client uses https. With an https public URL every client does, even through an untrusted proxy that
   * sends another host.
   */
  isSecure(request: IncomingMessage): boolean {
    return [this.baseOf(request), this.originOf(request)].some((origin) => origin.startsWith('https:'));
  }

  /** The origins of the service's own pages, as far as this request shows. */
  ownOrigins(request: IncomingMessage): string[] {
    const publicUrl = this.#publicUrlFor(request);
    return publicUrl === undefined ? [this.originOf(request)] : [publicUrl, this.originOf(request)];
  }

  #publicUrlFor(request: IncomingMessage): string | undefined {
    const forwarded = forwardedRequestOf(request);
    return forwarded === undefined ? this.#publicUrl : forwarded.publicUrl;
  }
}

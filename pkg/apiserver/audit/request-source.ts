import type { RequestContext } from '#pkg/http/index';
import type { AuditSource } from './request-audit.ts';

/** What the audit tells of a request over HTTP. It copies nothing: most requests are not recorded. */
export class RequestSource implements AuditSource {
  readonly #context: RequestContext;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  get id(): string {
    return this.#context.id;
  }

  get users(): AuditSource['users'] {
    const { user, impersonator } = this.#context;
    return impersonator === undefined ? { user } : { user: impersonator, impersonatedUser: user };
  }

  get info(): AuditSource['info'] {
    return this.#context.info;
  }

  get uri(): string {
    return this.#context.request.url ?? '';
  }

  get addresses(): readonly string[] {
    return [this.#context.clientAddress];
  }

  get userAgent(): string | undefined {
    return this.#context.request.headers['user-agent'];
  }
}

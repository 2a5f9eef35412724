import type { RequestContext } from '#pkg/http/index';
import type { AuditSource } from './request-audit.ts';

/** What the audit tells of a request over HTTP. It copies nothing: most requests are not recorded. */
export class RequestSource implements AuditSource {
  readonly #context: RequestContext;
  readonly #uri: string | undefined;

  /** `uri`: of a watch within another request. Default: as the client sent it. */
  constructor(context: RequestContext, uri?: string) {
    this.#context = context;
    this.#uri = uri;
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
    return this.#uri ?? this.#context.request.url ?? '';
  }

  get addresses(): readonly string[] {
    return [this.#context.clientAddress];
  }

  get userAgent(): string | undefined {
    return this.#context.request.headers['user-agent'];
  }
}

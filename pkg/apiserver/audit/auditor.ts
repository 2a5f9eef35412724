import type { AuditPolicy } from '#pkg/audit/index';
import {
  networkOf,
  onBegin,
  responseStatus,
  type Filter,
  type RequestContext,
  type RequestInfo,
} from '#pkg/http/index';
import { credentialIdOf } from '#pkg/identity/index';
import { newRefusalRecord } from './refusal-counts.ts';
import { AuditQueue, type AuditQueueOptions } from './audit-queue.ts';
import { RequestAudit, type AuditOutput, type AuditSource } from './request-audit.ts';
import { RequestSource } from './request-source.ts';

export interface AuditorOptions extends AuditQueueOptions {
  policy: AuditPolicy;
}

/**
 * Records requests as its policy says, with one event for each: a write that takes place has it in its own statement,
 * any other request in the queue. Of 401 and 429, whatever the policy says, and of 403, only the numbers within a
 * minute are kept.
 */
export class Auditor {
  readonly #policy: AuditPolicy;
  readonly #output: AuditOutput | undefined;
  readonly #queue: AuditQueue;

  constructor({ policy, ...queue }: AuditorOptions) {
    this.#policy = policy;
    this.#output = queue.output;
    this.#queue = new AuditQueue(queue);
  }

  start(): void {
    this.#queue.start();
  }

  /** Writes what waits; call it when no more requests come, and before the store is closed. */
  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /** Records that wait to be written. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** The audit of a request within this process; the caller reports its write, and nothing else is kept. */
  begin(source: AuditSource): RequestAudit {
    return new RequestAudit(this.#policy, source, this.#output);
  }

  /** Outside of authentication, so that a refused request is recorded too. */
  filter(isExempt: (info: RequestInfo) => boolean): Filter {
    return (next) => async (context) => {
      if (isExempt(context.info)) return next(context);
      const audit = this.begin(new RequestSource(context));
      context.audit = audit;
      if (context.info.verb === 'watch') this.#recordStart(context, audit);
      try {
        await next(context);
      } finally {
        this.end(audit, { code: responseStatus(context), address: context.clientAddress });
      }
    };
  }

  /**
   * Records how a request ended. One that wrote has its rows already, unless it failed after its first write, as a
   * deletion of many objects may. `address`: of a client over HTTP, whose user may not be known after a 429, and is not
   * after a 401.
   */
  end(audit: RequestAudit, { code, address }: { code: number; address?: string }): void {
    if (audit.isStored && code < 400) return;
    if (address !== undefined && (code === 401 || code === 429)) {
      const network = networkOf(address);
      const { user } = audit;
      // By a limit of their own: an operator looks for who it was.
      if (user.uid !== '')
        this.#queue.known.add(user.name, `${code} ${network} ${credentialIdOf(user)}`, () =>
          newRefusalRecord(code, network, user),
        );
      else this.#queue.unknown.add(network, String(code), () => newRefusalRecord(code, network));
    } else if (code === 403) {
      this.#queue.known.add(audit.user.name, `${audit.action} ${credentialIdOf(audit.user)}`, () =>
        audit.recordOf({ stage: 'ResponseComplete', code }),
      );
    } else {
      this.#add(audit, 'ResponseComplete', code);
    }
  }

  /** A watch is recorded when it begins: it may last for days. */
  #recordStart({ response }: RequestContext, audit: RequestAudit): void {
    onBegin(response, (status) => this.started(audit, status));
  }

  /** Records a watch that begins. */
  started(audit: RequestAudit, status: number): void {
    if (status >= 300 || audit.isStored) return;
    audit.markStored();
    this.#add(audit, 'ResponseStarted', status);
  }

  #add(audit: RequestAudit, stage: 'ResponseStarted' | 'ResponseComplete', code: number): void {
    const record = audit.recordOf({ stage, code });
    if (record !== undefined) this.#queue.add(record);
  }
}

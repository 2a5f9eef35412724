import { formatGroupResource, type ApiObject, type JsonValue } from '#pkg/apimachinery/index';
import {
  completeEvent,
  newAuditEvent,
  printable,
  type AuditDecision,
  type AuditedRequest,
  type AuditPolicy,
  type AuditRecord,
  type AuditRow,
  type AuditStage,
  type WriteAudit,
} from '#pkg/audit/index';
import type { RequestInfo } from '#pkg/http/index';
import type { UserInfo } from '#pkg/identity/index';

/** Larger events are kept without their objects. Characters. Source: kube-apiserver's audit log, which cuts at 100 KB. */
const maxEventLength = 65_536;
/** Names of Kubernetes have at most 253 characters. */
const maxFieldLength = 512;

/** What an event tells of a request; read when the event is made, because authentication comes after the beginning. */
export interface AuditSource {
  /** As in the answer's header Audit-Id. */
  readonly id: string;
  /** The user, and whom they impersonate. */
  readonly users: { user: UserInfo; impersonatedUser?: UserInfo | undefined };
  readonly info: Omit<RequestInfo, 'rest'>;
  readonly uri: string;
  readonly addresses: readonly string[];
  readonly userAgent?: string | undefined;
}

/** Called with each event as JSON, besides the log. Must not throw. */
export type AuditOutput = (event: string) => void;

/** The audit of one request: its level by the policy, and the events that the level asks for. */
export class RequestAudit implements WriteAudit {
  /** The client's object or patch, once it is decoded. */
  requestObject: JsonValue | undefined;
  readonly #policy: AuditPolicy;
  readonly #source: AuditSource;
  readonly #output: AuditOutput | undefined;
  readonly #receivedAt = Date.now();
  #decision: AuditDecision | undefined;
  #isStored = false;

  constructor(policy: AuditPolicy, source: AuditSource, output?: AuditOutput) {
    this.#policy = policy;
    this.#source = source;
    this.#output = output;
  }

  /** Whether an event of this request is kept already. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** Call it once the write has taken place with the row of `rowOf`, or once a watch is recorded. */
  markStored(write?: { row: AuditRow; revision: number }): void {
    this.#isStored = true;
    if (write !== undefined)
      this.#output?.(JSON.stringify(completeEvent({ event: write.row.event, revision: write.revision })));
  }

  get user(): UserInfo {
    return this.#source.users.user;
  }

  /** `<verb> <resource>`, for counts. */
  get action(): string {
    return `${this.#source.info.verb} ${this.#resource}`;
  }

  /** The row of a write; undefined if the policy does not keep it. */
  rowOf({ code, object }: { code: number; object: ApiObject }): AuditRow | undefined {
    if (!this.#isKept('ResponseComplete')) return undefined;
    const { namespace = '', name, uid } = object.metadata;
    const event = this.#eventText({
      stage: 'ResponseComplete',
      code,
      object: { name, ...(namespace === '' ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) },
      responseObject: object as unknown as JsonValue,
    });
    return { id: this.#source.id, username: fieldOf(this.user.name), verb: this.#source.info.verb, code, event };
  }

  /** The record of a request that wrote nothing; undefined if the policy does not keep it. */
  recordOf({ stage, code }: { stage: AuditStage; code: number }): AuditRecord | undefined {
    if (!this.#isKept(stage)) return undefined;
    const { id, info } = this.#source;
    return {
      id,
      username: fieldOf(this.user.name),
      verb: info.verb,
      code,
      resource: fieldOf(this.#resource),
      namespace: fieldOf(info.namespace),
      name: fieldOf(info.name),
      event: this.#eventText({ stage, code }),
    };
  }

  #isKept(stage: AuditStage): boolean {
    const { level, omitStages } = this.#decide();
    return level !== 'None' && !omitStages.has(stage);
  }

  /** Call it only when the user is known. */
  #decide(): AuditDecision {
    if (this.#decision === undefined) {
      const { user } = this;
      const { verb, group, resource, subresource, namespace, name, isResourceRequest, path } = this.#source.info;
      const attributes = { user, verb, group, resource, subresource, namespace, name, isResourceRequest, path };
      this.#decision = this.#policy.decide(attributes);
    }
    return this.#decision;
  }

  get #resource(): string {
    const { isResourceRequest, group, resource } = this.#source.info;
    return isResourceRequest ? formatGroupResource({ group, resource }) : '';
  }

  #eventText(
    options: Pick<Parameters<typeof newAuditEvent>[1], 'stage' | 'code' | 'object' | 'responseObject'>,
  ): string {
    const { id, users, info, uri, addresses, userAgent } = this.#source;
    const { verb, group, version, resource, subresource, namespace, name } = info;
    const request: AuditedRequest = {
      auditID: id,
      requestURI: uri,
      verb,
      ...users,
      sourceIPs: addresses,
      userAgent,
      group: fieldOf(group),
      version: fieldOf(version),
      resource: fieldOf(resource),
      subresource: fieldOf(subresource),
      namespace: fieldOf(namespace),
      name: fieldOf(name),
      receivedAt: this.#receivedAt,
    };
    const { level, omitManagedFields } = this.#decide();
    const all = { level, at: Date.now(), requestObject: this.requestObject, omitManagedFields, ...options };
    const text = JSON.stringify(newAuditEvent(request, all));
    if (text.length <= maxEventLength) return text;
    const annotations = { 'audit.k8s.io/truncated': 'true' };
    return JSON.stringify(
      newAuditEvent(request, { ...all, requestObject: undefined, responseObject: undefined, annotations }),
    );
  }
}

/** A part of the request as the log keeps it: a client may send anything, of any length. */
function fieldOf(text: string): string {
  return printable(text.slice(0, maxFieldLength));
}

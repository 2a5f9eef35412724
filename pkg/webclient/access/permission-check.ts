import { isJsonObject, StatusError, type AnyObject, type IndexTypes } from '#pkg/apimachinery/index';
import type { RequestSender } from '../request/sender.ts';
import type { Resource } from '../resource/resource.ts';

export interface PermissionQuestion {
  /** One object. Default: all of the resource. */
  name?: string;
  /** Default: that of the resource; empty: every namespace. */
  namespace?: string;
  /** `status`, for example. */
  subresource?: string;
}

/** `isAllowed` is undefined until the server has answered; `failure` says why it has not. */
export interface Permission {
  isAllowed: boolean | undefined;
  /** In the server's words. */
  reason?: string;
  failure?: StatusError;
}

/** An answer is asked for again after this time, as long as somebody is interested. */
const maxAgeMs = 60_000;
/** Of answers that nobody is interested in. */
const maxUnusedAnswers = 500;
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** By session and question, the latest last. */
const checks = new WeakMap<object, Map<string, PermissionCheck>>();

/** May the user of the connection do this? One question for all who are interested. */
export function permissionCheck<T extends AnyObject, Indexes extends IndexTypes>(
  { model, connection, namespace: ownNamespace }: Resource<T, Indexes>,
  verb: string,
  { namespace = ownNamespace, name = '', subresource = '' }: PermissionQuestion,
): PermissionCheck {
  const { group, plural: resource } = model;
  const attributes = { verb, group, resource, subresource, namespace, name };
  const key = JSON.stringify(attributes);
  const known = checks.get(connection.session) ?? new Map<string, PermissionCheck>();
  checks.set(connection.session, known);
  const check = known.get(key) ?? new PermissionCheck(connection, attributes);
  known.delete(key);
  known.set(key, check);
  removeUnused(known);
  return check;
}

/** The oldest first; never the latest, which is about to be used. */
function removeUnused(known: Map<string, PermissionCheck>): void {
  let tooMany = known.size - maxUnusedAnswers;
  for (const [key, check] of known) {
    if (tooMany <= 0) return;
    if (check.isUsed) continue;
    known.delete(key);
    tooMany -= 1;
  }
}

/** The answer to one question, asked when somebody subscribes, and again while it is in use. */
export class PermissionCheck {
  current: Permission = { isAllowed: undefined };
  readonly #sender: RequestSender;
  readonly #attributes: object;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #askedAt = -Infinity;

  constructor(sender: RequestSender, attributes: object) {
    this.#sender = sender;
    this.#attributes = attributes;
  }

  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }

  /** Calls `listener` after each change of `current`. Returns its end. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#askWhenOld();
    return () => {
      this.#listeners.delete(listener);
      if (!this.isUsed) clearTimeout(this.#timer);
    };
  }

  #askWhenOld(): void {
    clearTimeout(this.#timer);
    if (!this.isUsed || this.#isAsking) return;
    const waitMs = this.#askedAt + maxAgeMs - Date.now();
    if (waitMs > 0) this.#timer = setTimeout(() => this.#askWhenOld(), waitMs);
    else void this.#ask();
  }

  /** Never rejects. */
  async #ask(): Promise<void> {
    this.#isAsking = true;
    const permission = await review(this.#sender, this.#attributes);
    this.#isAsking = false;
    this.#askedAt = Date.now();
    const { isAllowed, reason, failure } = this.current;
    // After a failure the last answer stays.
    const next = permission.failure === undefined ? permission : { ...this.current, failure: permission.failure };
    if (next.isAllowed !== isAllowed || next.reason !== reason || next.failure !== failure) {
      this.current = next;
      for (const listener of this.#listeners) listener();
    }
    this.#askWhenOld();
  }
}

async function review(sender: RequestSender, resourceAttributes: object): Promise<Permission> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  try {
    const answer = await sender.json({ method: 'POST', path: reviews, body, isRepeatable: false });
    const { allowed, reason } = isJsonObject(answer) && isJsonObject(answer['status']) ? answer['status'] : {};
    return { isAllowed: allowed === true, ...(typeof reason === 'string' && reason !== '' ? { reason } : {}) };
  } catch (error) {
    const failure = error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error));
    return { isAllowed: undefined, failure };
  }
}

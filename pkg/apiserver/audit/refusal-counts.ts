import { randomUUID } from 'node:crypto';
import { newAuditEvent, type AuditEvent, type AuditRecord } from '#pkg/audit/index';
import { anonymousUser, type UserInfo } from '#pkg/identity/index';

/** How many different refusals are counted apart in a minute; further ones share one row. */
const maxKinds = 1000;
export const countAnnotation = 'svc.run/count';

interface Counted {
  count: number;
  /** Of the first refusal, without the count. */
  record: AuditRecord;
}

/**
 * Counts refusals that come by the thousand, so that an attacker cannot fill the log: equal ones within a minute become
 * one row with their number. One owner has few kinds, so that they cannot push out those of others.
 */
export class RefusalCounts {
  readonly #perOwner: number;
  #counted = new Map<string, Counted>();
  #kindsOf = new Map<string, number>();
  #others = 0;

  /** `perOwner`: kinds of one owner that are counted apart; further ones share a row of the owner. */
  constructor({ perOwner }: { perOwner: number }) {
    this.#perOwner = perOwner;
  }

  /**
   * `owner`: a network or a user. `newRecord` makes the row of the first refusal of this kind; undefined: it is not kept.
   */
  add(owner: string, kind: string, newRecord: () => AuditRecord | undefined): void {
    const kinds = this.#kindsOf.get(owner) ?? 0;
    const own = `${owner} ${kind}`;
    const known = this.#counted.get(own) ?? (kinds >= this.#perOwner ? this.#counted.get(owner) : undefined);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    if (this.#counted.size >= maxKinds) {
      this.#others += 1;
      return;
    }
    const record = newRecord();
    if (record === undefined) return;
    // The row of the owner's further refusals is that of the first of them.
    this.#counted.set(kinds < this.#perOwner ? own : owner, { count: 1, record });
    this.#kindsOf.set(owner, kinds + 1);
  }

  /** The rows of what was counted since the last call. */
  take(): AuditRecord[] {
    const counted = [...this.#counted.values()];
    const others = this.#others;
    this.#counted = new Map();
    this.#kindsOf = new Map();
    this.#others = 0;
    const records = counted.map(withCount);
    return others === 0
      ? records
      : [...records, newNotice(`${others} further requests were refused in this minute`, others)];
  }
}

function withCount({ count, record }: Counted): AuditRecord {
  const event = JSON.parse(record.event) as AuditEvent;
  const annotations = { ...event.annotations, [countAnnotation]: String(count) };
  return { ...record, event: JSON.stringify({ ...event, annotations }) };
}

/** The row of requests of one network that were refused. `user`: default one that was not known yet. */
export function newRefusalRecord(code: number, network: string, user: UserInfo = anonymousUser): AuditRecord {
  return newOwnRecord(user, { verb: '', code, sourceIPs: [network], annotations: {} });
}

/** A row of the server itself, about rows that it did not write. */
export function newNotice(message: string, count: number): AuditRecord {
  const annotations = { [countAnnotation]: String(count), 'svc.run/notice': message };
  return newOwnRecord(serverUser, { verb: 'audit', code: 0, sourceIPs: [], annotations });
}

const serverUser: UserInfo = { name: 'system:apiserver', uid: '', groups: [] };

/** A row that belongs to no single request. */
function newOwnRecord(
  user: UserInfo,
  {
    verb,
    code,
    sourceIPs,
    annotations,
  }: { verb: string; code: number; sourceIPs: string[]; annotations: Record<string, string> },
): AuditRecord {
  const id = randomUUID();
  const at = Date.now();
  const none = { group: '', version: '', resource: '', subresource: '', namespace: '', name: '' };
  const event = newAuditEvent(
    { auditID: id, requestURI: '', verb, user, sourceIPs, receivedAt: at, ...none },
    { level: 'Metadata', stage: 'ResponseComplete', at, code, annotations },
  );
  return { id, username: user.name, verb, code, resource: '', namespace: '', name: '', event: JSON.stringify(event) };
}

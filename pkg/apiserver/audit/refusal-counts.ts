import { randomUUID } from 'node:crypto';
import { newAuditEvent } from '#pkg/audit/index';
import { anonymousUser, type UserInfo } from '#pkg/identity/index';
import type { AuditRecord } from '#pkg/audit/index';

/** How many different refusals are counted apart in a minute; further ones share one row. */
const maxKinds = 1000;
export const countAnnotation = 'svc.run/count';

interface Counted {
  count: number;
  /** The row, with its annotation still missing. */
  record: (annotations: Record<string, string>) => AuditRecord | undefined;
}

/**
 * Counts refusals that come by the thousand, so that an attacker cannot fill the log: equal ones within a minute become
 * one row with their number.
 */
export class RefusalCounts {
  #counted = new Map<string, Counted>();
  #others = 0;

  /** `record` makes the row of the first refusal of this kind. */
  add(kind: string, record: Counted['record']): void {
    const known = this.#counted.get(kind);
    if (known !== undefined) known.count += 1;
    else if (this.#counted.size < maxKinds) this.#counted.set(kind, { count: 1, record });
    else this.#others += 1;
  }

  /** The rows of what was counted since the last call. */
  take(): AuditRecord[] {
    const counted = [...this.#counted.values()];
    const others = this.#others;
    this.#counted = new Map();
    this.#others = 0;
    const records = counted.flatMap(({ count, record }) => record({ [countAnnotation]: String(count) }) ?? []);
    return others === 0
      ? records
      : [...records, newNotice(`${others} further requests were refused in this minute`, others)];
  }
}

/** The row of requests of one network that were refused before their user was known. */
export function newRefusalRecord({ code, network, annotations }: Refusal): AuditRecord {
  return newOwnRecord(anonymousUser, { verb: '', code, sourceIPs: [network], annotations });
}

interface Refusal {
  code: number;
  network: string;
  annotations: Record<string, string>;
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
  { verb, code, sourceIPs, annotations }: Omit<Refusal, 'network'> & { verb: string; sourceIPs: string[] },
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

import type { ClientEvent } from '../../../../pkg/apimachinery/index.ts';
import type { ObjectOf } from '../../../../pkg/index.ts';
import { Job } from './job-model.ts';

type JobObject = ObjectOf<typeof Job>;

/**
 * What controllers wrote, in the order of revisions. Terms of one controller may only grow, and one term belongs to one
 * host: otherwise two hosts led at the same time, and the fence let both write.
 */
export class TermHistory {
  readonly #last = new Map<string, { term: number; host: string }>();
  readonly violations: string[] = [];
  writes = 0;

  note(event: ClientEvent<JobObject>): void {
    if (event.type === 'BOOKMARK' || event.type === 'DELETED') return;
    const { metadata, status } = event.object;
    const { term, host } = status ?? {};
    if (term === undefined || host === undefined) return;
    this.writes += 1;
    const last = this.#last.get(metadata.name);
    const isPast = last !== undefined && (term < last.term || (term === last.term && host !== last.host));
    if (isPast)
      this.violations.push(
        `${metadata.name} at ${metadata.resourceVersion}: term ${term} of ${host} after ${last.term} of ${last.host}`,
      );
    this.#last.set(metadata.name, { term, host });
  }
}

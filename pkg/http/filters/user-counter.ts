import type { Entrance } from './keyed-gates.ts';

/** How many of each user are under way, against one limit for each; undefined is none. */
export class UserCounter {
  private readonly limit: number | undefined;
  private readonly counts = new Map<string, number>();

  constructor(limit: number | undefined) {
    this.limit = limit;
  }

  add(user: string): boolean {
    if (this.limit === undefined) return true;
    const count = this.counts.get(user) ?? 0;
    if (count >= this.limit) return false;
    this.counts.set(user, count + 1);
    return true;
  }

  of(user: string): Entrance {
    return new UserEntrance(user, this);
  }

  remove(user: string): void {
    if (this.limit === undefined) return;
    const left = this.counts.get(user)! - 1;
    if (left === 0) this.counts.delete(user);
    else this.counts.set(user, left);
  }
}

/** Nobody waits at it. */
class UserEntrance implements Entrance {
  private readonly user: string;
  private readonly counter: UserCounter;

  constructor(user: string, counter: UserCounter) {
    this.user = user;
    this.counter = counter;
  }

  enter(): boolean {
    return this.counter.add(this.user);
  }

  reenter(): boolean {
    return this.enter();
  }

  leave(): void {
    this.counter.remove(this.user);
  }
}

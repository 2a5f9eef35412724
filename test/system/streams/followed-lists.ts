import type { ClientEvent, Stored } from '../../../pkg/apimachinery/index.ts';
import type { Post } from '../../../pkg/testenv/index.ts';
import type * as Webclient from '../../../pkg/webclient/index.ts';
import type { LiveList, Resource, WhereSelection } from '../../../pkg/webclient/index.ts';
import type { IndexTypes } from '../../../pkg/webclient/resource/query.ts';

export type Selection = WhereSelection<IndexTypes>;

/** What a page holds, and was told, until now. */
export interface PageReport {
  /** Of each selection: revisions by name. */
  held: Record<string, string>[];
  /** The events of the first selection since each beginning. */
  told: string[][];
  /** Objects that went back. */
  faults: string[];
}

/** The live lists of a page, which notes what it is told of the changes of the first. */
export class FollowedLists {
  readonly #client: Pick<typeof Webclient, 'live'>;
  readonly #posts: Resource<Post>;
  readonly #lists: LiveList<Post>[];
  readonly #faults: string[] = [];
  readonly #told: string[][] = [];
  readonly #end = new AbortController();

  constructor(
    client: Pick<typeof Webclient, 'live' | 'follow'>,
    posts: Resource<Post>,
    selections: readonly Selection[],
  ) {
    this.#client = client;
    this.#posts = posts;
    this.#lists = selections.map((selection) => client.live(posts, selection));
    for (const list of this.#lists) this.#noteReversals(list);
    client.follow(posts, {
      ...selections[0],
      signal: this.#end.signal,
      onEvents: (events) => {
        if (events.length === 0) this.#told.push([]);
        else this.#told.at(-1)!.push(...[...events].flatMap(textsOf));
      },
    });
  }

  get states(): string[] {
    return this.#lists.map(({ state }) => state.name);
  }

  get report(): PageReport {
    return { held: this.#lists.map((list) => revisionsOf(list.current)), told: this.#told, faults: this.#faults };
  }

  /** A list that comes and goes, of which the others miss nothing. */
  visitOther(run: number): void {
    this.#client.live(this.#posts, { labels: { run: String(run) } }).stop();
  }

  /** When has the last list become stale, from now on? `mayLoad`: one that was loading may load by another way. */
  noteStale(mayLoad: boolean): () => number | undefined {
    const times = this.#lists.map((list) => {
      let time: number | undefined;
      const check = (): void => {
        if (list.state.name === 'stale' || (mayLoad && list.state.name === 'loading')) time ??= Date.now();
      };
      list.subscribe(check);
      return () => {
        check();
        return time;
      };
    });
    return () => {
      const all = times.map((timeOf) => timeOf());
      return all.includes(undefined) ? undefined : Math.max(...(all as number[]));
    };
  }

  stop(): void {
    this.#end.abort();
    for (const list of this.#lists) list.stop();
  }

  #noteReversals(list: LiveList<Post>): void {
    const newest = new Map<string, number>();
    list.subscribe(() => {
      for (const { metadata } of list.current) {
        const revision = Number(metadata.resourceVersion);
        if (revision < (newest.get(metadata.uid) ?? 0)) this.#faults.push(`${metadata.name} went back to ${revision}`);
        newest.set(metadata.uid, revision);
      }
    });
  }
}

/** Has the page been told of the last event, or begun after it? */
export function isUpTo({ told }: PageReport, watched: readonly string[]): boolean {
  const last = told.at(-1);
  return last !== undefined && (last.length === 0 || last.at(-1) === watched.at(-1));
}

/** What it missed, or was told twice or out of order. `watched`: the events of a watch without faults. */
export function faultsOf({ told, faults }: PageReport, watched: readonly string[]): string[] {
  const wrong = told.filter((events) => {
    const from = events.length === 0 ? 0 : watched.indexOf(events[0]!);
    return from < 0 || !isSame(events, watched.slice(from, from + events.length));
  });
  return [...faults, ...wrong.map((events) => `told ${events.join(', ')}`)];
}

/** In the end. */
export function latenessOf(report: PageReport, watched: readonly string[]): string[] {
  return isUpTo(report, watched) ? [] : [`told until ${report.told.at(-1)?.at(-1)}`];
}

export function textsOf(event: ClientEvent<Post>): string[] {
  return event.type === 'BOOKMARK'
    ? []
    : [`${event.type} ${event.object.metadata.name} ${event.object.metadata.resourceVersion}`];
}

export function revisionsOf(items: readonly Stored<Post>[]): Record<string, string> {
  return Object.fromEntries([...items].map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

import {
  selectionParams,
  type AnyObject,
  type IndexCondition,
  type IndexTypes,
  type WhereSelection,
} from '@svc/client';
import type { AnyResource } from '../server/model-info.ts';
import { server } from '../server/server.ts';
import { acceptForCounts, countParams } from '../snippet/shown-request.ts';

export type CountedCondition = IndexCondition<string>;

/** Objects of a selection that meet one condition more, even one about the same index. */
export class CountedSelection {
  readonly #resource: AnyResource;
  readonly #selection: WhereSelection<IndexTypes>;
  readonly #signal: AbortSignal;

  constructor(resource: AnyResource, selection: WhereSelection<IndexTypes>, signal: AbortSignal) {
    this.#resource = resource;
    this.#selection = selection;
    this.#signal = signal;
  }

  /** The exact number. @throws StatusError */
  async count(index: string, condition: CountedCondition): Promise<number> {
    const query = new URLSearchParams([...selectorsWith(this.#selection, index, condition), ...countParams]);
    const options = { query, accept: acceptForCounts, signal: this.#signal };
    const { total } = (await server.read(this.#resource.path, options)) as { total: number };
    return total;
  }

  /** The first object in the order of an index: `priority`, or `priority,desc`. @throws StatusError */
  async first(sort: string, condition: CountedCondition): Promise<AnyObject | undefined> {
    const selectors = selectorsWith(this.#selection, sort.replace(/,desc$/, ''), condition);
    const query = new URLSearchParams([...selectors, ['limit', '1'], ['sort', sort]]);
    const { items } = (await server.read(this.#resource.path, { query, signal: this.#signal })) as {
      items: AnyObject[];
    };
    return items[0];
  }
}

/** All selectors of a query must hold at once. */
export function selectorsWith(
  selection: WhereSelection<IndexTypes>,
  index: string,
  condition: CountedCondition,
): URLSearchParams {
  return new URLSearchParams([...selectionParams(selection), ...selectionParams({ where: { [index]: condition } })]);
}
